"""Entries that commands read or name."""
