"""Search modules and the branches that run them."""
