"""The adapter of a made-up logbook."""
