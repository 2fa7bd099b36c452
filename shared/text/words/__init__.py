"""Words, names and numbers as they are written, each by itself."""
