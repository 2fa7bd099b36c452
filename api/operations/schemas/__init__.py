"""Bodies of status, chores, quarantine and models."""
