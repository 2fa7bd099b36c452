"""The facility's terms: proposed, decided, and what means the same."""
