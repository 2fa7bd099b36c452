"""The search index: written, compared with Postgres, made anew."""
