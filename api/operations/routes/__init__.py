"""Routes of health, status, chores, quarantine and models."""
