"""A foreign record becomes an entry, by a map in the settings."""
