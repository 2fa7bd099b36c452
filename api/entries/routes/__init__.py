"""Routes of entries, threads, attachments and changes."""
