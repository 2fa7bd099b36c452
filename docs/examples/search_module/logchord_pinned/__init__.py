"""The pinned entries of a made-up control room."""
