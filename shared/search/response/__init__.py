"""The response to a search: finished, worded, stored and read again."""
