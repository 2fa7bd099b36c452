"""Health, status, chores, quarantine, models."""
