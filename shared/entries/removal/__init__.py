"""Entries that go: by retention, or by a purge that leaves no trace."""
