"""Pictures: the local-dynamics graph, its construction, and writing image files."""
