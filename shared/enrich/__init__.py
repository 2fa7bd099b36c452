"""What the stages make of an entry: metadata, files, copies, links, extracts."""
