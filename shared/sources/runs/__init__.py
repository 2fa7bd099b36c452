"""One run of a source, step by step, whatever its kind, and when it is due."""
