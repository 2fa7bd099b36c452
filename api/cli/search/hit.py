"""One hit of a search as lines of a terminal, and why it stands where it does."""

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self
from zoneinfo import ZoneInfo

import click

from api.cli.render.terminal import facility_zone, fact_width, local, plain, text_width
from api.cli.render.text_layout import cells, joined, labelled, spans, wrapped
from shared.text.reading.quantities import say_quantity

_INDENT = "    "
_MAX_CHARACTERS = 400
_TAGS = re.compile("(</?b>)")
# Stands between the parts of a long passage where words were left out.
_LEFT_OUT = " ... "


@dataclass(frozen=True)
class HitLayout:
    """The clock and the widths that hits are shown by."""

    zone: ZoneInfo
    facts: int
    text: int

    @classmethod
    def here(cls) -> Self:
        """Return the layout that fits this terminal or pipe."""
        return cls(facility_zone(), fact_width(), text_width())


def render_hit(
    result: dict[str, Any], page: HitLayout, *, explain: bool = False
) -> str:
    """Return one hit as lines: its place and score, about it, and its best passage."""
    width = page.facts - len(_INDENT)
    books = ", ".join(result["logbooks"])
    place = f"{result['source']}/{result['external_id']}"
    when = local(result["entry_time"], page.zone)
    found_by = "found by " + ", ".join(result["found_by"])
    alike = f"{result['similar_count']} similar" if result["similar_count"] else ""
    removed = "source removed" if result.get("source_removed") else ""
    facts = (when, place, removed, books, result["author"], found_by, alike)
    told = [plain(fact) for fact in facts if fact]
    about = [click.style(line, dim=True) for line in joined(told, width)]
    for one in result.get("superseded_by", ()):
        newer = joined([plain(told) for told in _newer(one, page.zone)], width)
        about += [click.style(line, fg="yellow") for line in newer]
    if explain:
        about += [line for one in _why(result, width) for line in one.splitlines()]
    room = page.text - len(_INDENT)
    text = marked_lines(result["highlights"], result["content"], room)
    number = f"{result['rank']:>2}. "
    head, *titles = _head(result, width + len(_INDENT) - len(number))
    lines = (*titles, *about, *text)
    return "\n".join([f"{number}{head}", *(f"{_INDENT}{one}" for one in lines), ""])


def _head(result: dict[str, Any], width: int) -> list[str]:
    """Return the title, and behind it the score, or below it where it does not fit."""
    titles = wrapped(plain(result["title"]), width) or ["(no title)"]
    score = format(result["relevance_score"], ".2f")
    lines = [click.style(line, bold=True) for line in titles]
    coloured = click.style(score, fg="cyan")
    if cells(titles[-1]) + 2 + len(score) > width:
        return [*lines, coloured]
    lines[-1] += f"  {coloured}"
    return lines


def _newer(one: dict[str, Any], zone: ZoneInfo) -> list[str]:
    """Return the newer value of a value in the hit, with the entry that states it."""
    what = f"superseded: {one['parameter']} of {one['device']}"
    stated, newer = (
        say_quantity(one["dimension"], one[n]) for n in ("stated", "value")
    )
    place = f"{one['source']}/{one['external_id']}"
    return [what, f"{stated} is {newer}", f"since {local(one['time'], zone)}", place]


def _why(result: dict[str, Any], width: int) -> Iterator[str]:
    """Yield the score, the branches with their ranks, and the boosts of a hit."""
    score = f"{result['relevance_score']:.4f} by {result['calibration']}"
    yield labelled("score", [score, f"confidence {result['confidence']}"], width)
    for name, rank in result["ranks"].items():
        worth = result["contrib"].get(name)
        fused = [] if worth is None else [f"worth {worth:.4f}"]
        yield labelled("place", [f"{rank} of {plain(name)}", *fused], width)
    raw = [f"{name} {value:.4g}" for name, value in result["scores"].items()]
    yield labelled("raw", raw or "none", width)
    moved = [f"{plain(name)} x {one:.4g}" for name, one in result["factors"].items()]
    yield labelled("factors", moved or "none", width)


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
