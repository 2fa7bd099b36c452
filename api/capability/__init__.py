"""Logbook search as an orchestrator routes to it: guides, context, errors."""
