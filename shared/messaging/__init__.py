"""Celery and Redis: names of tasks and queues, nudges, the fan-out of a search."""
