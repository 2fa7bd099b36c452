"""Vectors in Postgres: chunks, tables, and the nearest of them."""
