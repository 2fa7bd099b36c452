"""A question compiled for the languages of the entries that it may meet."""
