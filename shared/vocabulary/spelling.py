"""How far apart two spellings are: letters too many, too few or wrong."""

_LONG_CHARS = 6


def tolerance(word: str) -> int:
    """Return how many letters may be wrong: two, in a short word one."""
    return 2 if is_long(word) else 1


def is_long(word: str) -> bool:
    """Tell whether a word is too long to be like another one by chance."""
    return len(word) >= _LONG_CHARS


def is_word(text: str) -> bool:
    """Tell whether a text is a word that may be misspelt: letters alone."""
    return text.replace("'", "").isalpha()


def distance(one: str, other: str, most: int) -> int | None:
    """Return how many letters two words are apart, or None beyond `most`."""
    if abs(len(one) - len(other)) > most:
        return None
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        before, row = row, [i]
        for j, against in enumerate(other, 1):
            changed = before[j - 1] + (letter != against)
            row.append(min(before[j] + 1, row[-1] + 1, changed))
        if min(row) > most:
            return None
    return row[-1] if row[-1] <= most else None
