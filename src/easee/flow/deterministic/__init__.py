"""The optimal flow where every word leads to one state."""
