"""Search modules put together under a name of their own."""
