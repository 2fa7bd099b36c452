"""What an admin sees of sources and does to them."""
