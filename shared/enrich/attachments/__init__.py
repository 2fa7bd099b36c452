"""Files beside entries: fetched, read by a child process, kept by content."""
