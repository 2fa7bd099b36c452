"""Statements and requests to Postgres and OpenSearch that modules share."""
