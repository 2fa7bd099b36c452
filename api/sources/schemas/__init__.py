"""Bodies of sources and their runs."""
