"""Sources and their runs."""
