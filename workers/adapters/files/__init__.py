"""Files of records: CSV, JSON, XML."""
