"""Deaths, cuts and restarts; each experiment ends in one line of numbers."""
