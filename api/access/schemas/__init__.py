"""Keys as they go in and out over REST."""
