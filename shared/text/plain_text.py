"""Text with marks becomes text to be read: what is searched, shown and embedded."""

from collections.abc import Callable

from shared.text.markup import elcode, html, markdown, textile

_READERS: dict[str, Callable[[str], str]] = {
    "html": html.to_text,
    "markdown": markdown.to_text,
    "elcode": elcode.to_text,
    "textile": textile.to_text,
}


def to_plain(text: str, text_format: str) -> str:
    """Return the readable text; never fails, and takes time linear in its length.

    Plain text comes back as it is, whatever it looks like, as do unknown formats.
    """
    reader = _READERS.get(text_format)
    return reader(text) if reader else text
