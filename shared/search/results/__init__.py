"""The hits of a page: ranked, read with today's rights, marked."""
