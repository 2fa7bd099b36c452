"""`logchord search`, and how its answer is printed."""
