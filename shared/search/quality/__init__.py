"""How people fare with searches: events without a word of theirs, signals, alerts."""
