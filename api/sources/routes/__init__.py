"""Routes of sources and their runs."""
