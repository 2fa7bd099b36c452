"""The alarms of a made-up control room."""
