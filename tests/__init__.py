"""Tests, a folder for each layer and in it one for each room."""
