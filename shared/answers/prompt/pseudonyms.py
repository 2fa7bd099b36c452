"""Names of people, hidden before a model reads a text and put back behind it.

Known are the authors of the entries at hand, and addresses of mail.
"""

import re
from collections.abc import Iterable

_MAIL = re.compile(r"\b[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+\b")
_TOKEN = re.compile(r"\bPERSON_\d+[a-z]*\b")
_PARTS = re.compile(r"[^\W\d_][\w'\u2019-]+")
# What is shorter is an initial, or a word.
_LEAST_LETTERS = 3


class Pseudonyms:
    """One name for each person, the same for the same people in the same order."""

    def __init__(self, authors: Iterable[str], texts: Iterable[str] = ()) -> None:
        self._tokens: dict[str, str] = {}
        people = [one.strip() for one in authors if one.strip()]
        people += [one for text in texts for one in find_mails(text)]
        for number, person in enumerate(dict.fromkeys(people), 1):
            self._tokens.setdefault(person, f"PERSON_{number}")
            for place, part in enumerate(_PARTS.findall(person)):
                # `Will` is a name, `will` is a word.
                if len(part) >= _LEAST_LETTERS and part[0].isupper():
                    letter = chr(ord("a") + place % 26)
                    self._tokens.setdefault(part, f"PERSON_{number}{letter}")
        self._written = {token: name for name, token in self._tokens.items()}
        # The longest first: a whole name before its parts.
        names = sorted(self._tokens, key=lambda one: (-len(one), one))
        self._names = re.compile(
            rf"(?<!\w)(?:{'|'.join(map(re.escape, names))})(?!\w)" if names else r"(?!)"
        )

    def hide(self, text: str) -> str:
        """Return a text without the names."""
        return self._names.sub(lambda match: self._tokens[match[0]], text)

    def show(self, text: str) -> str:
        """Return a text with the names that stood there."""
        return _TOKEN.sub(
            lambda match: self._written.get(match[0], match[0]),
            text,
        )


def find_mails(text: str) -> list[str]:
    """Return the addresses of mail in a text."""
    return _MAIL.findall(text)
