"""The Jefferson Lab logbook."""
