"""All that match, or the window of a job, as a file."""
