"""A search in flight: its job, the outcomes of its branches, its verdict."""
