"""Faults that experiments inject: deaths, cuts, bad messages, wrong clocks."""
