"""`logchord source`, and how a new source is added."""
