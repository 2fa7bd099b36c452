"""Entries as rows: the one way to write them, and how they are read and removed."""
