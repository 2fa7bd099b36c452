"""Due work and chores: leases, retries, quarantine, and who is alive.

Others try again, or quarantine, by rules of their own: records of a source that cannot
be read in `shared/sources/intake/` (`rejected.py`, `retry_rejected.py`), and the
branches of a search in `shared/search/retrieval/branch/retry.py`.
"""
