"""Sentences that answer a question, from its best results, and their wording."""
