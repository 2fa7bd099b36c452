"""Due work and chores: leases, retries, quarantine, and who is alive.

What they have in common is in `leases.py`. Others try again, or give up, by rules of
their own: the files beside an entry (`MOST_ATTEMPTS` in
`workers/tasks/attachments.py`), alerts (the same in `shared/watch/alert_rows.py`), a
source that fails (`sync_config.py` in `shared/sources/runs/`), records of a source that
cannot be read (`quarantined_items.py` and `retry_items.py` in
`shared/sources/intake/`), and the branches of a search
(`shared/search/retrieval/branch/retry.py`).
"""
