"""The facility's approved terms, and what means the same."""
