"""Routes about the caller."""
