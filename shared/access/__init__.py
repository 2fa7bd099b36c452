"""Keys, scopes, rights, rate limits, cursors and idempotency."""
