"""Servers that we do not run: models and JSON, as their makers describe them."""
