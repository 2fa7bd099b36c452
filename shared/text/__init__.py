"""Foreign text in, terms and facts out."""
