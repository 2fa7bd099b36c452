"""What experiments measure: what held, how late, how much memory."""
