"""What Celery runs: one file per queue's kind of work."""
