"""A question's life: from its words to a ranked, explained response."""
