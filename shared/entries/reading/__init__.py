"""Entries as callers and stages read them."""
