"""A plain process: nudges what is due, schedules chores, ends overdue jobs."""
