"""Places in a document: JSON pointers (RFC 6901), and `*` for every element."""

import re
from typing import Any

_BAD_ESCAPE = re.compile("~(?![01])")
_EMPTY: tuple[Any, ...] = (None, "", [], {})


class Pointer:
    """The place of a value: `/a/0/b`, `/a/*/b`, or the plain name of a key."""

    __slots__ = ("key", "text", "tokens")

    def __init__(self, text: str) -> None:
        self.text = text
        # None stands for every element.
        self.tokens: tuple[str | None, ...] = _tokens(text)
        only = self.tokens[0] if len(self.tokens) == 1 else None
        # Most places are one key deep, and found without walking.
        self.key: str | None = only

    def all(self, document: Any) -> list[Any]:
        """Return every value at the place, without absent ones and nulls."""
        found = [document]
        for token in self.tokens:
            found = _below(found, token)
        return [value for value in found if value is not None]

    def first(self, document: Any) -> Any:
        """Return the first value there, or None."""
        if self.key is not None and isinstance(document, dict):
            return document.get(self.key)
        found = self.all(document)
        return found[0] if found else None

    def is_absent(self, document: Any) -> bool:
        """Tell whether a document lacks the place; what is empty there may have it."""
        found = [document]
        for token in self.tokens:
            if any(value in _EMPTY for value in found):
                return False
            found = _below(found, token)
            if not found:
                return True
        return False

    def listed(self, document: Any) -> Any:
        """Return the value there; with a `*`, the list of them all."""
        return self.all(document) if None in self.tokens else self.first(document)


def _tokens(text: str) -> tuple[str | None, ...]:
    if not text.startswith("/"):
        # Empty is the whole document, as RFC 6901 has it.
        return (text,) if text else ()
    if _BAD_ESCAPE.search(text):
        message = f"{text!r} is no JSON pointer: `~` is written `~0`, and `/` `~1`"
        raise ValueError(message)
    return tuple(
        None if part == "*" else part.replace("~1", "/").replace("~0", "~")
        for part in text[1:].split("/")
    )


def _below(found: list[Any], token: str | None) -> list[Any]:
    deeper: list[Any] = []
    for value in found:
        if isinstance(value, dict):
            if token is None:
                deeper.extend(value.values())
            elif token in value:
                deeper.append(value[token])
        elif isinstance(value, list):
            if token is None:
                deeper.extend(value)
            elif token.isascii() and token.isdigit() and int(token) < len(value):
                deeper.append(value[int(token)])
    return deeper
