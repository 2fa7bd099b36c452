"""The command line: its entry, its client of the API, its output."""
