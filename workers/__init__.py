"""What Celery runs, in thin tasks; the adapters; and upkeep, a plain process."""
