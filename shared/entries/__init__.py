"""Entries as rows: drafts, identity, links, threads, removal."""
