"""Moments, calendars and shifts, and how people and programs write them."""
