"""What the stages make of an entry: metadata, files, copies, extracts."""
