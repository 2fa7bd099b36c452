"""The stage `links`: what a text names of other entries, tickets and addresses.

What a person wrote is no edge of a thread: that is for the source to say. Which entry
is meant is found when the links are shown: one that comes later is linked, too.
"""

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, Literal, NamedTuple
from urllib.parse import unquote

from pydantic import BaseModel

from shared.enrich.source_positions import locate_names
from shared.messaging.stage_names import LINKS_STAGE
from shared.stages.stage_contract import StageDescriptor, StageInput
from shared.text.words.identifiers import normalise_hyphens

# Raised with every change of what is found in an entry.
_VERSION = 2
MAX_LINKS = 200
# All of them in JSON stay well below what a stage may find.
MAX_CHARS = 40_000
_MAX_URL_CHARS = 2000
_MAX_LISTED = 20

_URL = re.compile(r"https?://[!-~]{3,2000}", re.IGNORECASE)
_URL_ENDS = re.compile(r"[\"<>`{}|\\^]")
# What closes a sentence or a bracket around an address is not of it.
_CLOSING = ".,;:!?'*_"
_BRACKETS = {")": "(", "]": "["}
_PERMALINK = re.compile(r"https?://[^/]+/e/([^/?#@]+)/([^/?#@]+)")

# An identity has a digit, and is no time: `see entry below`, `entry 10:30` name none.
_ID = r"(?=[\w./-]{0,60}\d)[A-Za-z0-9][\w./-]{0,60}+(?!:\d)"
_DATE = re.compile(r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}")
_ANSWER = r"(?:in\s{1,3})?(?:reply|response|answer)\s{1,3}to|antwort\s{1,3}auf"
_ENTRY = re.compile(
    rf"(?<![\w-])(?:(?P<reply>{_ANSWER}|re:)\s{{0,3}})?(?:(?:the|den|zum)\s{{1,3}})?"
    r"(?:(?:e?log(?:book)?[ -]?)?(?:entry|entries|eintrag|einträge)|elog)"
    r"\s{0,3}(?:(?:no|nr|number|nummer|id)\b\.?\s{0,3})?[#:]?\s{0,2}"
    rf"(?P<id>{_ID})",
    re.IGNORECASE,
)
_NEXT = re.compile(
    rf"\s{{0,3}}(?:,|and|und|&|\+)\s{{0,3}}#?(?P<id>{_ID})", re.IGNORECASE
)


class TextLink(BaseModel):
    """One thing that a text names, and where it stands in the text as it came."""

    kind: Literal["reply", "entry", "ticket", "url"]
    text: str
    start: int | None = None
    end: int | None = None
    # The source and external id of a linked entry.
    source: str | None = None
    external_id: str | None = None
    # The facility's name for the kind of ticket.
    ticket: str | None = None
    url: str | None = None


class _FoundLink(NamedTuple):
    start: int
    end: int
    kind: Literal["reply", "entry", "ticket", "url"]
    more: dict[str, Any]


def get_stage_descriptor() -> StageDescriptor:
    """Return the descriptor of the links stage."""
    return StageDescriptor(
        LINKS_STAGE,
        version=_VERSION,
        description="Finds entries, tickets and addresses that the text names.",
        reads=("text", "original", "source", "external_id", "facility"),
        finds=TextLink,
        find=find,
    )


def find(reading: StageInput) -> list[TextLink]:
    """Return the links of a text in its order; bounded, and equal for equal texts."""
    text, original = reading["text"], reading["original"]
    found: list[_FoundLink] = []
    chars = 0
    for one in _apart(text, reading):
        # As it is stored: what is not ASCII takes six times its length.
        chars += len(json.dumps([text[one.start : one.end], one.more]))
        if len(found) >= MAX_LINKS or chars > MAX_CHARS:
            break
        found.append(one)
    names = [text[one.start : one.end] for one in found]
    where: list[tuple[int, int] | None] = [(one.start, one.end) for one in found]
    if original != text:
        where = locate_names(names, original)
    return [
        TextLink(
            kind=one.kind,
            text=name,
            start=place[0] if place else None,
            end=place[1] if place else None,
            **one.more,
        )
        for one, name, place in zip(found, names, where, strict=True)
    ]


def _apart(text: str, reading: StageInput) -> Iterator[_FoundLink]:
    """Yield the links in order; none overlap, and an address comes before others."""
    taken = list(islice(_urls(text), MAX_LINKS))
    text = normalise_hyphens(text)
    tickets = (
        _FoundLink(start, end, "ticket", {"ticket": kind, "url": url})
        for start, end, kind, url in reading.facility.named_tickets(text)
    )
    taken = _merged(taken, tickets)
    yield from _merged(taken, _entries(text, reading["source"], reading["external_id"]))


def _merged(taken: list[_FoundLink], others: Iterator[_FoundLink]) -> list[_FoundLink]:
    """Return both in order, of the others those alone that stand in no other's way.

    Of a text of megabytes, no more of them than are kept.
    """
    free: list[_FoundLink] = []
    place = 0
    end = 0
    is_full = len(taken) == MAX_LINKS
    for one in others:
        if len(free) == MAX_LINKS or (is_full and one.start > taken[-1].start):
            break
        while place < len(taken) and taken[place].end <= one.start:
            place += 1
        beside = place == len(taken) or one.end <= taken[place].start
        if beside and one.start >= end:
            free.append(one)
            end = one.end
    return sorted([*taken, *free], key=lambda one: one.start)[:MAX_LINKS]


def _urls(text: str) -> Iterator[_FoundLink]:
    for match in _URL.finditer(text):
        url = _URL_ENDS.split(match[0], maxsplit=1)[0]
        while url[-1] in _CLOSING or _closes_nothing(url):
            url = url[:-1]
        if len(url) <= len("https://") or len(url) >= _MAX_URL_CHARS:
            continue
        start, end = match.start(), match.start() + len(url)
        permalink = _PERMALINK.fullmatch(url)
        if permalink is None:
            yield _FoundLink(start, end, "url", {"url": url})
        else:
            source, external_id = map(unquote, permalink.groups())
            named = {"url": url, "source": source, "external_id": external_id}
            yield _FoundLink(start, end, "entry", named)


def _closes_nothing(url: str) -> bool:
    opening = _BRACKETS.get(url[-1])
    return opening is not None and url.count(opening) < url.count(url[-1])


def _entries(text: str, source: str, own: str) -> Iterator[_FoundLink]:
    """Yield the entries of this source that a text names; `12, 13 and 14` are three."""
    for first in _ENTRY.finditer(text):
        match: re.Match[str] | None = first
        for number in range(_MAX_LISTED):
            if match is None:
                break
            said = match["id"].rstrip("./-_")
            external_id = _whole(said, own)
            start = match.start("id") if number else match.start()
            end = match.start("id") + len(said)
            if external_id != own and not _DATE.fullmatch(said):
                is_reply = bool(first["reply"]) and not number
                named = {"source": source, "external_id": external_id}
                yield _FoundLink(start, end, "reply" if is_reply else "entry", named)
            match = _NEXT.match(text, end)


def _whole(said: str, own: str) -> str:
    """Return the full id of a named entry: a bare number is in this entry's logbook."""
    logbook, slash, _ = own.rpartition("/")
    return f"{logbook}/{said}" if slash and "/" not in said else said
