"""Celery tasks around the domain; each is thin."""
