"""Copies and series: which entries are nearly the same text."""
