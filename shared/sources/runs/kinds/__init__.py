"""The kinds of runs: a tail, a backfill, a reconcile, a reparse, and files in need."""
