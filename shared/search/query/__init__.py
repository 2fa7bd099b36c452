"""From a question to a plan: what is searched, for whom, until when; no I/O."""
