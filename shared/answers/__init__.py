"""Sentences that answer a question, taken from its best results."""
