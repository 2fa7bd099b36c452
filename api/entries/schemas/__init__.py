"""Bodies of entries, threads, attachments and changes."""
