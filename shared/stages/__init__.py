"""What a stage is, which are installed, and what an entry passes."""
