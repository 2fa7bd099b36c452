"""Logbooks that are tables of a database, read only."""
