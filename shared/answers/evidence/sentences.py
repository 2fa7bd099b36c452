"""Where the sentences of a logbook's texts begin and end, whoever broke the lines."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from shared.text.reading.shortened_words import is_shortened

# A sentence of a log that never ends is cut between two words.
MAX_CHARACTERS = 300
_SOFT_END = re.compile(r"[;:,]\s|\s(?:--?|[\u2013\u2014])\s")
_LINE = re.compile(r"[^\n]+")
# Begun once in a row of them, of which some logs have thousands, and not given back.
_END = re.compile(r"(?<![.!?])[.!?]++[\"')\]\u201c\u201d]*+\s++(?=[^a-z\s])")
# A new point of a list begins a sentence; `#20` is a number.
_LISTED = re.compile(r"\s*(?:[-*\u2022>+]|#+\s|\d{1,2}[.)]\s|\d{1,2}:\d{2})")
# What only rules a text off, or stands out a line: `*** UPDATE AT 14:31 ***`.
_RULE, _LEAST_RULE = "*=_~", 3
_RULED = f"{_RULE} \t\n\r"
# Where an editor broke lines, most reach nearly as far as the longest one.
_MOST_WRAPPED, _LEAST_WRAPPED, _REACHES = 100, 40, 0.6


class Span(NamedTuple):
    """A stretch of a text."""

    start: int
    end: int
    # Whether its sentence, which is too long, goes on in the next stretch.
    goes_on: bool = False


def split_sentences(text: str) -> Iterator[Span]:
    """Yield where each sentence stands, in order; blanks and rules belong to none."""
    for start, end, _ in _paragraphs(text):
        begin = start
        for match in _END.finditer(text, start, end):
            last = match.start() + 1
            if not is_shortened(text, begin, last):
                yield from _pieces(text, begin, match.end())
                begin = match.end()
        yield from _pieces(text, begin, end)


def _paragraphs(text: str) -> Iterator[Span]:
    """Yield lines, those joined that an editor has broken."""
    lines = [match.span() for match in _LINE.finditer(text)]
    longest = max((end - start for start, end in lines), default=0)
    is_wrapped = _LEAST_WRAPPED <= longest <= _MOST_WRAPPED
    begin = last = None
    for start, end in lines:
        if begin is not None and last is not None:
            goes_on = (
                is_wrapped
                and start - last.end == 1
                and _is_broken(text, last, start, longest)
                and not _LISTED.match(text, start, end)
            )
            if not goes_on:
                yield Span(begin, last.end)
                begin = start
        else:
            begin = start
        last = Span(start, end)
    if begin is not None and last is not None:
        yield Span(begin, last.end)


def _is_broken(text: str, line: Span, following: int, longest: int) -> bool:
    """Tell whether a line ends where its sentence does not."""
    last = text[line.end - 1]
    if last in ".!?:":
        # A sentence may end there, and is looked for in what is joined.
        return line.end - line.start >= _REACHES * longest
    reaches = line.end - line.start >= _REACHES * longest
    return reaches or last == "," or text[following].islower()


def _is_rule(text: str) -> bool:
    """Tell whether signs and blanks are enough of them to rule a text off."""
    return sum(map(text.count, _RULE)) >= _LEAST_RULE


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a stretch without the blanks and rules around it."""
    said = text[start:end]
    start, ruled = (end - len(said.lstrip(signs)) for signs in (None, _RULED))
    start = ruled if _is_rule(text[start:ruled]) else start
    said = text[start:end]
    end, ruled = (start + len(said.rstrip(signs)) for signs in (None, _RULED))
    return start, ruled if _is_rule(text[ruled:end]) else end


def _pieces(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield a sentence without what is around it; one without end in pieces."""
    start, end = _trim(text, start, end)
    while end - start > MAX_CHARACTERS:
        most = start + MAX_CHARACTERS
        ends = [one.end() for one in _SOFT_END.finditer(text, start, most)]
        cut = ends[-1] if ends and ends[-1] - start > MAX_CHARACTERS // 3 else 0
        cut = cut or text.rfind(" ", start + 1, most) + 1 or most
        yield Span(start, len(text[:cut].rstrip()), goes_on=True)
        start = cut
        while start < end and text[start].isspace():
            start += 1
    if start < end:
        yield Span(start, end)
