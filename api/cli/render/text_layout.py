"""Text in the cells of a terminal: how many it takes, and where its lines end."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence

import click

BETWEEN = " · "
# Between a label and what it is of; a narrower terminal has no room for more.
LABEL = 10
# It asks for the picture of the sign before it, which is wide.
_AS_PICTURE = "\ufe0f"


def cells(text: str) -> int:
    """Return how many cells a text takes; Chinese and its like take two a sign."""
    return sum(map(_cells_of, click.unstyle(text)))


def padded(text: str, width: int) -> str:
    """Return a text with blanks behind it up to a width."""
    return text + " " * (width - cells(text))


def cut(text: str, width: int) -> str:
    """Return a text that takes no more than a width; what is left off is marked."""
    if cells(text) <= width:
        return text
    kept, used = "", 1
    for char in text:
        used += _cells_of(char)
        if used > width:
            break
        kept += char
    return kept.rstrip() + "…"


def wrapped(text: str, width: int) -> list[str]:
    """Return a text as lines that fit, broken at blanks where there are any."""
    return [text[start:end] for start, end in spans(text, width)]


def spans(text: str, width: int) -> Iterator[tuple[int, int]]:
    """Yield where each line begins and ends; a word that is too wide is cut."""
    at = 0
    while at < len(text):
        if text[at] == " ":
            at += 1
            continue
        end = _end_of_line(text, at, width)
        yield at, at + len(text[at:end].rstrip(" "))
        at = end


def joined(facts: Sequence[str], width: int) -> list[str]:
    """Return facts side by side, a new line where the next one does not fit."""
    lines: list[str] = []
    for fact in facts:
        if lines and cells(lines[-1]) + len(BETWEEN) + cells(fact) <= width:
            lines[-1] += BETWEEN + fact
        elif cells(fact) <= width:
            lines.append(fact)
        else:
            lines += wrapped(click.unstyle(fact), width)
    return lines


def labelled(
    label: str, facts: str | Sequence[str], width: int, *, column: int = LABEL
) -> str:
    """Return a label and what it is of, whose further lines stand below its first."""
    room = width - column
    lines = wrapped(facts, room) if isinstance(facts, str) else joined(facts, room)
    first = f"{padded(label, column - 1)} "
    if lines and cells(first) + cells(lines[0]) > width:
        # A long label has a line of its own.
        lines = ["", *lines]
    return f"\n{' ' * column}".join(
        [f"{first}{''.join(lines[:1])}".rstrip(), *lines[1:]]
    )


def _end_of_line(text: str, start: int, width: int) -> int:
    used, last = 0, 0
    for place in range(start, len(text)):
        size = _cells_of(text[place])
        is_blank = text[place] == " "
        # Between two wide signs there is no blank, and a line may end all the same.
        if is_blank or size > 1 or _cells_of(text[place - 1]) > 1:
            last = place if size else last
        if used + size > width and not is_blank:
            return last if last > start else max(place, start + 1)
        used += size
    return len(text)


def _cells_of(char: str) -> int:
    if char == _AS_PICTURE:
        return 1
    if unicodedata.combining(char) or unicodedata.category(char) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
