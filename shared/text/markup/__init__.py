"""Marked-up text becomes plain text to be searched, shown and embedded."""
