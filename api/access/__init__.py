"""Who calls: keys, their use, and what they may."""
