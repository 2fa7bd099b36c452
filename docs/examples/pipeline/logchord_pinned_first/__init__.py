"""A pipeline of a facility."""
