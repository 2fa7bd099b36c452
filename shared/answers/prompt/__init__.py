"""What a language model is given to read: entries as data, bounded, without names."""
