"""One branch of a search: its module, fallback, retry and faults."""
