"""What is shown of one thing: a thread, an incident."""
