"""The one door for foreign text, the one analyser, and what a text states."""
