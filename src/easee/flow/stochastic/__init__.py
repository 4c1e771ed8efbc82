"""The optimal flow where words lead to distributions over states that may overlap."""
