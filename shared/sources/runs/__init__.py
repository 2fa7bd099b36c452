"""One run of a source, step by step: tail, backfill, reconcile, reparse."""
