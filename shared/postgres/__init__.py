"""Connections to Postgres, and how long a request may wait for it."""
