"""Entries pushed, edited, uploaded, read."""
