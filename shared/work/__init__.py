"""Due work and chores: leases, retries, quarantine, and who is alive.

Others try again, or give up, by rules of their own: the files beside an entry
(`MOST_ATTEMPTS` in `workers/tasks/attachments.py`), alerts (the same in
`shared/watch/alert_rows.py`), the runs of a source (`schedule.py` here, and
`sync_config.py` in `shared/sources/runs/`), records of a source that cannot be read
(`quarantined_items.py` and `retry_items.py` in `shared/sources/intake/`), and the
branches of a search (`shared/search/retrieval/branch/retry.py`).
"""
