"""Requests to other people's servers: checked addresses, pace, bounds, secrets."""
