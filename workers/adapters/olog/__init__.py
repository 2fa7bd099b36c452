"""Phoebus Olog."""
