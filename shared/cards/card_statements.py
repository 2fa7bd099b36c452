"""Steps of incidents as cards tell them: read once of a text, and of which thing."""

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from shared.cards.card_rows import CardEntry, CardValue
from shared.entries.identity import permalink
from shared.search.response.card import CardLine, LineKind
from shared.text.facility.incident_words import MENDING, Own, State, compiled, patterns
from shared.text.reading import incidents
from shared.text.reading.incidents import Statement
from shared.times.rfc3339 import timestamp

# Names of what has no state: a sentence that names one is about another thing.
_NO_SUBJECT = frozenset({"document", "ticket", "system"})
# An entry that says what is to be done tells of nothing that happened.
_TOLD_BY_NONE = frozenset({"procedure"})
_MENDING = compiled(MENDING)
_CULPRIT = re.compile(r"(?:the\s)?culprit\s(?:was|is)\s(?:the\s)?", re.IGNORECASE)
_BEAM = re.compile(r"(?<!\w)(?:beam|strahl)(?!\w)", re.IGNORECASE)
# So many words before a trip may say that it was another, told of before.
_BEFORE = re.compile(
    r"\b(?:after|nach|following|since|seit"
    r"|(?:post-?mortem|analysis|review|report|summary|discussion) (?:of|on|about)"
    r"|(?:analyse|bericht|besprechung|nachlese) (?:zu[mr]?|\u00fcber|von|de[sr]))"
    r"\s+(?:\S+\s+){0,3}$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class CardStatement:
    """A step that an entry tells of, in its text or in its title."""

    entry: CardEntry
    said: Statement
    is_title: bool = False

    @property
    def time(self) -> datetime:
        """Return when it happened, as far as the entry says."""
        happened = self.entry.event_time
        if self.said.step == "trip" and self.said.time_from == "entry" and happened:
            return happened
        return self.said.at

    @property
    def is_fix(self) -> bool:
        """Tell whether the thing works again, or was mended to that end."""
        said = self.text[self.said.start : self.said.end]
        return self.said.step == "restored" or (
            self.said.step == "action" and _MENDING.search(said) is not None
        )

    @property
    def text(self) -> str:
        """Return the text that it stands in."""
        return self.entry.title if self.is_title else self.entry.text

    def line(self, kind: LineKind, seconds: float | None = None) -> CardLine:
        """Return the statement as a line of a card."""
        quote = incidents.quoted(self.text, self.said.start, self.said.end)
        start = None if self.is_title else self.said.start
        return make_line(self.entry, kind, quote, self.time, start, seconds)


def make_line(
    entry: CardEntry | CardValue,
    kind: LineKind,
    quote: str,
    time: datetime,
    start: int | None,
    seconds: float | None = None,
) -> CardLine:
    """Return a line that an entry is cited for; `start`: in its text."""
    return CardLine(
        kind=kind,
        text=quote,
        time=timestamp(time),
        entry_id=str(entry.entry_id),
        revision=entry.revision,
        permalink=permalink(entry.source, entry.external_id),
        start=start,
        end=None if start is None else start + len(quote),
        seconds=seconds,
    )


def first_line(entry: CardEntry) -> CardLine:
    """Return a line of what an entry is called, or how it begins."""
    if entry.title:
        quote = incidents.quoted(entry.title, 0, len(entry.title))
        return make_line(entry, "last_entry", quote, entry.entry_time, None)
    start, end = next(incidents.sentences(entry.text), (0, len(entry.text)))
    quote = incidents.quoted(entry.text, start, end)
    return make_line(entry, "last_entry", quote, entry.entry_time, start)


def statements_of(entry: CardEntry, zone: str, own: Own) -> list[CardStatement]:
    """Return the statements of an entry, those of its title first."""
    if entry.kind in _TOLD_BY_NONE:
        return []
    said = _read(entry.text, entry.entry_time, zone, own)
    told = {one.step for one in said}
    headed = [
        one
        for one in _read(entry.title, entry.entry_time, zone, own)
        if one.kind and one.step not in told
    ]
    return [
        *(CardStatement(entry, one, is_title=True) for one in headed),
        *(CardStatement(entry, one) for one in said),
    ]


def state_of(statements: Sequence[CardStatement]) -> State | None:
    """Return the state after an entry's statements; None: they do not say."""
    in_text = incidents.state([one.said for one in statements if not one.is_title])
    return in_text or incidents.state([one.said for one in statements])


def _read(text: str, written: datetime, zone: str, own: Own) -> list[Statement]:
    bare = incidents.blank_quoted_lines(text)
    return [
        one
        for one in incidents.find_statements(bare, written, zone, own)
        if one.kind != "trip" or _is_news(bare[one.start : one.end], own)
    ]


def _is_news(said: str, own: Own) -> bool:
    """Tell whether something broke now, and not before what is told: `after the trip`.

    What came before has an entry of its own.
    """
    found = dict(patterns(own))["trip"].finditer(said)
    return any(_BEFORE.search(said, 0, one.start()) is None for one in found)


class Subject:
    """Tells which statements of an entry are about one thing.

    The first thing that a clause names is what it is about; of one that names none, the
    last one before it; before any, what the entry as a whole is about. That something
    broke is told of a thing in the sentence that names it, or in the one behind it,
    unless the title names it: an entry of a night tells of many things.
    """

    def __init__(self, spellings: Sequence[str]) -> None:
        self._named = _any_of(tuple(spellings))

    def names(self, text: str) -> bool:
        """Tell whether a text names the thing."""
        return self._named.search(text) is not None

    def is_of_entry(self, entry: CardEntry) -> bool:
        """Tell whether a whole entry is about the thing, and its replies with it."""
        return self.names(entry.title) or (
            entry.is_naming and not self._others(entry.entities)
        )

    def own(
        self, entry: CardEntry, statements: Sequence[CardStatement], *, is_reply: bool
    ) -> list[CardStatement]:
        """Return the statements about the thing; `is_reply`: its thread is about it."""
        if self._heads(entry.title):
            # What else it names are parts of the thing.
            return list(statements)
        whole = self.is_of_entry(entry) or (is_reply and not entry.is_naming)
        others = self._others(entry.entities)
        places = [(one.start(), True) for one in self._named.finditer(entry.text)]
        places += [
            (found.start(), False)
            for name in others
            for found in _any_of((name,)).finditer(entry.text)
        ]
        places.sort()
        is_titled = self.names(entry.title) or (is_reply and not entry.is_naming)
        near = [] if is_titled else self._near_sentences(entry.text)
        return [
            one
            for one in statements
            if (
                whole
                if one.is_title
                else self._is_own(one, places, is_whole=whole)
                and (
                    is_titled
                    or one.said.state != "open"
                    or any(start <= one.said.start < end for start, end in near)
                )
            )
        ]

    def _heads(self, title: str) -> bool:
        """Tell whether a title begins with the thing, as `RFC2: no field`."""
        named = self._named.match(title)
        return named is not None and title[named.end() :].lstrip().startswith(":")

    def blames(self, one: CardStatement) -> bool:
        """Tell whether it says that the thing was the culprit."""
        if one.said.step != "cause":
            return False
        said = one.text[one.said.start : one.said.end]
        found = _CULPRIT.match(said)
        return found is not None and self._named.match(said, found.end()) is not None

    def _near_sentences(self, text: str) -> list[tuple[int, int]]:
        """Return where the sentences stand that name the thing, or come behind one.

        That the beam was lost is told of what the next sentence names, too.
        """
        places = [*incidents.sentences(text)]
        naming = [self.names(text[start:end]) for start, end in places]
        return [
            place
            for number, place in enumerate(places)
            if any(naming[max(0, number - 1) : number + 1])
            or (any(naming[number + 1 : number + 2]) and _BEAM.search(text, *place))
        ]

    @staticmethod
    def _is_own(
        one: CardStatement, places: Sequence[tuple[int, bool]], *, is_whole: bool
    ) -> bool:
        within = [is_it for at, is_it in places if one.said.start <= at < one.said.end]
        if within:
            return within[0]
        before = [is_it for at, is_it in places if at < one.said.start]
        return before[-1] if before else is_whole

    def _others(self, entities: Sequence[dict[str, Any]]) -> list[str]:
        names = {one["name"] for one in entities if one["kind"] not in _NO_SUBJECT}
        return sorted(one for one in names if one and not self.names(one))


# The same things are named in entry after entry, in ever other company.
@functools.lru_cache(maxsize=4096)
def _any_of(names: tuple[str, ...]) -> re.Pattern[str]:
    some = "|".join(
        re.escape(one) for one in sorted(names, key=lambda one: (-len(one), one)) if one
    )
    return re.compile(rf"(?<!\w)(?:{some or '(?!)'})(?!\w)", re.IGNORECASE)
