"""Saved searches: what people want to be told of, found as it comes, and told."""
