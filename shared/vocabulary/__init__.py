"""The words that entries use: counted, corrected, expanded."""
