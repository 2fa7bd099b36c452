"""The processes themselves, driven from outside."""
