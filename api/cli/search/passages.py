"""What a hit says, as lines that fit a terminal; what was asked for in bold."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence

import click

from api.cli.render.terminal import plain
from api.cli.render.text_layout import spans, wrapped

_MAX_CHARACTERS = 400
_TAGS = re.compile("(</?b>)")
# Stands between the parts of a long passage where words were left out.
_LEFT_OUT = " ... "


def marked_lines(highlights: Sequence[str], content: str, width: int) -> list[str]:
    """Return the marked parts, or the beginning of a passage that has none."""
    if not highlights:
        return wrapped(_shortened(content), width)
    pieces = list(_pieces(highlights))
    text = "".join(piece for piece, _ in pieces)
    bold = [is_bold for piece, is_bold in pieces for _ in piece]
    return [
        _styled(text[start:end], bold[start:end]) for start, end in spans(text, width)
    ]


def _pieces(highlights: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """Yield the text of the parts, piece by piece, each blank as one space."""
    is_bold = before_is_blank = False
    for number, part in enumerate(highlights):
        if number:
            yield _LEFT_OUT, False
            before_is_blank = True
        for piece in _TAGS.split(part):
            if _TAGS.fullmatch(piece):
                is_bold = piece == "<b>"
                continue
            text = re.sub(r"\s+", " ", plain(html.unescape(piece)))
            text = text[1:] if before_is_blank and text[:1] == " " else text
            if text:
                before_is_blank = text[-1] == " "
                yield text, is_bold


def _styled(line: str, bold: Sequence[bool]) -> str:
    runs: list[tuple[str, bool]] = []
    for char, is_bold in zip(line, bold, strict=True):
        if runs and runs[-1][1] == is_bold:
            runs[-1] = (runs[-1][0] + char, is_bold)
        else:
            runs.append((char, is_bold))
    return "".join(click.style(t, bold=True) if b else t for t, b in runs)


def _shortened(content: str) -> str:
    text = " ".join(plain(content).split())
    if len(text) <= _MAX_CHARACTERS:
        return text
    return text[:_MAX_CHARACTERS].rsplit(" ", 1)[0] + " ..."
