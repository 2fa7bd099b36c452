"""Hard filters of a search: parsed once, compiled by each engine."""
