"""Searches planned, dispatched, awaited and exported."""
