"""Text with marks becomes text to be read: what is searched, shown and embedded."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import unquote_plus

from shared.text import (
    markup_elcode,
    markup_html,
    markup_markdown,
    markup_textile,
)

_READERS: dict[str, Callable[[str], str]] = {
    "html": markup_html.to_text,
    "markdown": markup_markdown.to_text,
    "elcode": markup_elcode.to_text,
    "textile": markup_textile.to_text,
}
# An entry of ELOG by its number, in its book or in another; `elog:123/1` is its file.
_RELATED = re.compile(r"\belog:(?:([^\s/\"'<>\[\]()]{1,100})/)?(\d{1,10})\b", re.ASCII)
_MOST_RELATED = 1000


def to_plain(text: str, text_format: str) -> str:
    """Return what a person reads; total, and linear in the length of the text.

    Plain text comes back as it is, whatever it looks like, as do unknown formats.
    """
    reader = _READERS.get(text_format)
    return reader(text) if reader else text


def related_numbers(text: str, text_format: str) -> list[str]:
    """Return the entries that an ELOG text links to: `123`, or `Book/123`."""
    found: dict[str, None] = {}
    for match in _RELATED.finditer(text):
        book, number = match.groups()
        if book is None or book.isdecimal():
            found[book or number] = None
        else:
            name = unquote_plus(book) if text_format != "plain" else book
            found[f"{name}/{number}"] = None
        if len(found) == _MOST_RELATED:
            break
    return list(found)
