"""Logbooks that entries come from: their adapters, state, runs and files."""
