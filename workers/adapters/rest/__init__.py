"""Any server that answers lists of JSON, described by settings."""
