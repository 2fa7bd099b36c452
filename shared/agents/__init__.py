"""A model that searches turn by turn: each turn a row, each row's calls a chord."""
