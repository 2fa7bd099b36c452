"""How far apart two spellings are: letters too many, too few, wrong or swapped."""

_LONG_CHARS = 6
# Three letters swapped are another abbreviation.
_SWAPPED_CHARS = 4


def tolerance(word: str) -> int:
    """Return how many letters may be wrong: two, in a short word one."""
    return 2 if is_long(word) else 1


def is_long(word: str) -> bool:
    """Tell whether a word is too long to be like another one by chance."""
    return len(word) >= _LONG_CHARS


def is_word(text: str) -> bool:
    """Tell whether a text is a word that may be misspelt: letters alone."""
    return text.replace("'", "").isalpha()


def swap_neighbours(word: str) -> list[str]:
    """Return a word with two letters side by side swapped, at each place."""
    places = range(len(word) - 1) if len(word) >= _SWAPPED_CHARS else ()
    return [
        word[:at] + word[at + 1] + word[at] + word[at + 2 :]
        for at in places
        if word[at] != word[at + 1]
    ]


def distance(one: str, other: str, most: int) -> int | None:
    """Return how many letters two words are apart, or None beyond `most`.

    Two letters side by side that are swapped are one.
    """
    if abs(len(one) - len(other)) > most:
        return None
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        earlier, before, row = before, row, [i]
        for j, against in enumerate(other, 1):
            changed = before[j - 1] + (letter != against)
            if j > 1 and one[i - 2 : i] == against + other[j - 2] and i > 1:
                changed = min(changed, earlier[j - 2] + 1)
            row.append(min(before[j] + 1, row[-1] + 1, changed))
        if min(row) > most:
            return None
    return row[-1] if row[-1] <= most else None
