"""Stages that find things in entries: metadata, links, digests."""
