"""What is shown of one thing: a device, a thread, an incident."""
