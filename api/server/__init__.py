"""What every route stands on: limits, errors, threads, metrics, the description."""
