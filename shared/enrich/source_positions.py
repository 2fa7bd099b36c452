"""Where a name that was read stands in the text as it came, between its marks."""

import re
from collections.abc import Sequence

# Possessive and bounded: no text makes it go back far.
_TAG = re.compile(r"<[a-zA-Z/!][^<>]{0,2000}+>")


def locate_names(names: Sequence[str], marked: str) -> list[tuple[int, int] | None]:
    """Return each name's place, in the order of reading; None: marks run through it.

    A name in an address or in a picture's title is looked for beyond what is read.
    """
    # As many blanks as the tag had characters: what is read stands where it stood.
    shown = _TAG.sub(lambda tag: " " * len(tag[0]), marked)
    found: list[tuple[int, int] | None] = []
    end = 0
    for name in names:
        start = shown.find(name, end)
        if start >= 0:
            end = start + len(name)
            found.append((start, end))
        else:
            start = marked.find(name)
            found.append((start, start + len(name)) if start >= 0 else None)
    return found
