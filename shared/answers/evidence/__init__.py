"""What an answer may be made of: entries, their threads and their sentences."""
