"""The one way to write entries: validated, compared, saved in one commit."""
