"""What a question asks for: its kind, its names and words, its parts."""
