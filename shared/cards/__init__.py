"""What is shown of one thing: a device, a thread with its incident."""
