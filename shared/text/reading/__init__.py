"""What a text states: quantities, parameters, incidents, abbreviations."""
