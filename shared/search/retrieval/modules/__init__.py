"""The search modules that Logchord brings, and lists of all that match."""
