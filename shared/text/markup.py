"""Text with marks becomes text to be read: what is searched, shown and embedded."""

from __future__ import annotations

from collections.abc import Callable

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


def to_plain(text: str, text_format: str) -> str:
    """Return what a person reads; total, and linear in the length of the text.

    Plain text comes back as it is, whatever it looks like, as do unknown formats.
    """
    reader = _READERS.get(text_format)
    return reader(text) if reader else text
