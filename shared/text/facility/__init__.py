"""What one facility says of its own words: names, devices, people, lists."""
