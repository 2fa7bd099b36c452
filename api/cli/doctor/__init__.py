"""`logchord doctor`: every precondition, checked."""
