"""Text in the cells of a terminal: how many it takes, and where its lines end."""

from collections.abc import Iterator, Sequence

import click
from rich.cells import CellSpan, cell_len, split_graphemes

BETWEEN = " · "
# Between a label and what it is of; a narrower terminal has no room for more.
LABEL = 10


def cells(text: str) -> int:
    """Return how many cells a text takes, where a sign may be many characters."""
    return cell_len(click.unstyle(text))


def padded(text: str, width: int) -> str:
    """Return a text with blanks behind it up to a width."""
    return text + " " * (width - cells(text))


def cut(text: str, width: int) -> str:
    """Cut a text to a width, with a mark where it was cut."""
    if cells(text) <= width:
        return text
    kept, used = "", 1
    for start, end, size in split_graphemes(text)[0]:
        used += size
        if used > width:
            break
        kept += text[start:end]
    return kept.rstrip() + "…"


def wrapped(text: str, width: int) -> list[str]:
    """Return a text as lines that fit, broken at blanks where there are any."""
    return [text[start:end] for start, end in spans(text, width)]


def spans(text: str, width: int) -> Iterator[tuple[int, int]]:
    """Yield where each line begins and ends; a word that is too wide is cut."""
    signs, _ = split_graphemes(text)
    first = 0
    while first < len(signs):
        start, end, _ = signs[first]
        if text[start:end] == " ":
            first += 1
            continue
        first = _end_of_line(text, signs, first, width)
        end = signs[first - 1][1]
        yield start, start + len(text[start:end].rstrip(" "))


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
    """Return a label and its text; further lines stand below the first."""
    room = width - column
    lines = wrapped(facts, room) if isinstance(facts, str) else joined(facts, room)
    first = f"{padded(label, column - 1)} "
    if lines and cells(first) + cells(lines[0]) > width:
        # A long label has a line of its own.
        lines = ["", *lines]
    return f"\n{' ' * column}".join(
        [f"{first}{''.join(lines[:1])}".rstrip(), *lines[1:]]
    )


def _end_of_line(text: str, signs: Sequence[CellSpan], first: int, width: int) -> int:
    """Return which sign begins the next line."""
    used, last = 0, first
    for number in range(first, len(signs)):
        start, end, size = signs[number]
        is_blank = text[start:end] == " "
        # Between two wide signs there is no blank, and a line may end all the same.
        if is_blank or size > 1 or (number > first and signs[number - 1][2] > 1):
            last = number
        if used + size > width and not is_blank:
            return last if last > first else max(number, first + 1)
        used += size
    return len(signs)
