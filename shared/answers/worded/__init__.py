"""Answers that a language model words: each of its sentences checked, or gone."""
