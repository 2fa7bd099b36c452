"""RSS and Atom feeds."""
