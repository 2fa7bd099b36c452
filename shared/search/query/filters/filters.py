"""Hard filters: parsed once, compiled by each engine, never ignored."""

from __future__ import annotations

import json
import math
import string
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shared import entry_fields, suggest
from shared.errors import InvalidRequestError
from shared.ids import parse_uuid
from shared.search.query.filters import filter_operators, time_range
from shared.search.query.filters.fact_filters import Part, QuantityBounds, WantedFact
from shared.text import facts
from shared.text.analysis.analyser import quote_lexeme
from shared.text.facts import MARK
from shared.times.calendar import NO_CLOCK, Clock, Span

AUTHOR, HAS_ATTACHMENT, QUANTITY = "author", "has_attachment", "quantity"
THREAD = "thread_id"
ENTRY = "entry_id"
EXCLUDED = "exclude_entry_ids"
# Facts that every entry has once its metadata is read.
FACTS = (
    *sorted((*entry_fields.NAMES, "device", "kind", "language", "origin")),
    *("system", "tag"),
)
TIMES = (
    *(time_range.DATE, time_range.FROM, time_range.TO),
    *(time_range.EVENT_FROM, time_range.EVENT_TO),
)
BUILT = (
    *(AUTHOR, *FACTS, *TIMES),
    *(ENTRY, EXCLUDED, HAS_ATTACHMENT, "logbook", QUANTITY, "source", THREAD),
)
# The names as an error shows them; the last takes any key of the metadata.
ALLOWED = (*BUILT, f"{facts.METADATA}<key>")
ALIASES = {
    "authors": AUTHOR,
    "end_date": time_range.TO,
    "source_system": "source",
    "start_date": time_range.FROM,
    "tags": "tag",
}
_CALLED = (*BUILT, *ALIASES, time_range.RANGE)
# The fields of `Filters` by filter and operator.
FIELDS = {
    AUTHOR: {"in": "people", "not": "not_people"},
    "logbook": {"in": "logbooks", "not": "not_logbooks", "contains": "logbook_parts"},
    "source": {"in": "sources", "not": "not_sources", "contains": "source_parts"},
    THREAD: {"in": "threads", "not": "not_threads"},
    ENTRY: {"in": "ids"},
}
_TAKES = {THREAD: filter_operators.LISTED, ENTRY: frozenset({"in"})}
_TWICE = "It is given twice."
_WILD = str.maketrans({"\\": "\\\\", "%": "\\%", "_": "\\_"})
# Lowers ASCII letters alone, as the index does.
_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_AS_IT_IS: Mapping[int, int] = {}

# Fields of `Filters` that can be given once.
_ONE_ALONE = ("logbooks", "people", "quantity", "ids", "not_ids", "threads")
_PLAIN = (
    *("not_sources", "not_logbooks", "not_people", "not_threads"),
    *("source_parts", "logbook_parts"),
)


@dataclass(frozen=True, slots=True)
class Filters:
    """What a hit must be; a field that is None does not narrow."""

    sources: tuple[str, ...] | None = None
    logbooks: tuple[str, ...] | None = None
    facts: tuple[WantedFact, ...] = ()
    # Parts of names, in comparable form: any part of any of these is enough.
    people: tuple[str, ...] | None = None
    quantity: QuantityBounds | None = None
    # Numbers of metadata, each by its name.
    ranges: tuple[QuantityBounds, ...] = ()
    # When the entry was written: from, and before; RFC 3339, in UTC.
    since: str | None = None
    until: str | None = None
    # When it happened, in the same way.
    happened_since: str | None = None
    happened_until: str | None = None
    # Entries by their own id or their source's, and those that are not wanted.
    ids: tuple[str, ...] | None = None
    not_ids: tuple[str, ...] | None = None
    threads: tuple[str, ...] | None = None
    # The entries of those threads, for an engine that knows of none.
    members: tuple[str, ...] | None = None
    # Values that are not wanted, and parts that a name must contain.
    not_sources: tuple[str, ...] | None = None
    not_logbooks: tuple[str, ...] | None = None
    not_people: tuple[str, ...] | None = None
    not_threads: tuple[str, ...] | None = None
    not_members: tuple[str, ...] | None = None
    source_parts: tuple[str, ...] | None = None
    logbook_parts: tuple[str, ...] | None = None
    fact_parts: tuple[Part, ...] = ()

    def __bool__(self) -> bool:
        """Whether any filter is set."""
        return self != _NOTHING

    def both(self, other: Filters) -> Filters | None:
        """Return filters that require both; None: one `Filters` cannot express it."""
        told: dict[str, Any] = {}
        for name in (*_ONE_ALONE, *_PLAIN):
            ours, theirs = getattr(self, name), getattr(other, name)
            if None not in (ours, theirs) and ours != theirs:
                return None
            told[name] = theirs if ours is None else ours
        sources = self.sources if other.sources is None else other.sources
        if sources is not None and self.sources is not None:
            sources = tuple(one for one in self.sources if one in sources)
        return Filters(
            sources=sources,
            facts=tuple(dict.fromkeys((*self.facts, *other.facts))),
            fact_parts=tuple(dict.fromkeys((*self.fact_parts, *other.fact_parts))),
            ranges=tuple(dict.fromkeys((*self.ranges, *other.ranges))),
            since=_last(self.since, other.since),
            until=_first(self.until, other.until),
            happened_since=_last(self.happened_since, other.happened_since),
            happened_until=_first(self.happened_until, other.happened_until),
            **told,
        )

    @property
    def params(self) -> dict[str, Any]:
        """Return the parameters of an SQL constant with these filters."""
        bounds = self.quantity or QuantityBounds("")
        return {
            "only_sources": _list(self.sources),
            "only_logbooks": _list(self.logbooks),
            "only_facts": self._tsquery(),
            "only_people": _anywhere(self.people),
            "only_not_people": _anywhere(self.not_people),
            "only_not_sources": _list(self.not_sources),
            "only_not_logbooks": _list(self.not_logbooks),
            "only_not_threads": _list(self.not_threads),
            "only_source_part": _anywhere(self.source_parts, _LOWER),
            "only_logbook_part": _anywhere(self.logbook_parts, _LOWER),
            "only_parts": self._parts(),
            "only_dimension": bounds.dimension or None,
            "only_least": -math.inf if bounds.least is None else bounds.least,
            "only_most": math.inf if bounds.most is None else bounds.most,
            "only_named": f"%{(bounds.name or '').translate(_WILD)}%",
            "only_ranges": self._ranges(),
            "only_since": self.since,
            "only_until": self.until,
            "only_happened_since": self.happened_since,
            "only_happened_until": self.happened_until,
            "only_ids": _list(self.ids),
            # Only UUIDs among these can be an entry's own id, by which an index has it.
            "only_keys": None if self.ids is None else _keys(self.ids),
            "only_threads": _list(self.threads),
            "only_others": _list(self.not_ids),
            "only_beyond": None,
        }

    def _ranges(self) -> str | None:
        told = [
            {"dimension": one.dimension, "least": one.least, "most": one.most}
            for one in self.ranges
        ]
        return json.dumps(told) if told else None

    def _parts(self) -> str | None:
        told = [
            {
                "patterns": [
                    begin.translate(_WILD) + f"%{part.translate(_WILD)}%"
                    for begin, part in one.terms
                ]
            }
            for one in self.fact_parts
        ]
        return json.dumps(told) if told else None

    def _tsquery(self) -> str | None:
        parts = [
            f"{mark}({' | '.join(quote_lexeme(MARK + term) for term in terms)})"
            for one in self.facts
            for mark, terms in (("", one.wanted_terms), ("!", one.unwanted_terms))
            if terms
        ]
        return " & ".join(parts) or None


_NOTHING = Filters()


def parse(
    given: Mapping[str, object], *, max_values: int, clock: Clock = NO_CLOCK
) -> Filters:
    """Parse filters; refuse those that are unknown, not built or badly formed."""
    found: dict[str, Any] = {}
    wanted: list[WantedFact] = []
    parts: list[Part] = []
    ranges: list[QuantityBounds] = []
    seen: set[str] = set()
    for key, value in given.items():
        name = ALIASES.get(key, key)
        path = f"filters.{key}"
        _check_name(key)
        if name in seen:
            raise InvalidRequestError.field(path, "duplicate", _TWICE)
        seen.add(name)
        if name == HAS_ATTACHMENT:
            wanted.append(filter_operators.attached(path, value))
        elif name in FACTS:
            told = filter_operators.parse_operators(
                path, value, max_values, filter_operators.SAID
            )
            for said in filter_operators.LISTED & set(told):
                told[said] = filter_operators.check_known(path, name, told[said])
            _add_fact(wanted, parts, path, name, told)
        elif name.startswith(facts.METADATA):
            field = facts.metadata_field(name.removeprefix(facts.METADATA))
            ends, rest = filter_operators.ends_and_rest(value)
            if ends:
                ranges.append(filter_operators.between(path, field, ends, clock))
            if rest != {} or not ends:
                rest = filter_operators.as_texts(rest)
                told = filter_operators.parse_operators(
                    path, rest, max_values, filter_operators.SAID
                )
                _add_fact(wanted, parts, path, field, told)
        else:
            narrowed = _narrowed(name, path, value, max_values, clock)
            if set(narrowed) & set(found):
                raise InvalidRequestError.field(path, "duplicate", _TWICE)
            found |= narrowed
    filter_operators.check_order(found)
    return Filters(
        **found, facts=tuple(wanted), fact_parts=tuple(parts), ranges=tuple(ranges)
    )


def _add_fact(
    wanted: list[WantedFact],
    parts: list[Part],
    path: str,
    field: str,
    told: Mapping[str, tuple[str, ...]],
) -> None:
    if "in" in told or "not" in told:
        wanted.append(WantedFact(field, told.get("in", ()), told.get("not", ())))
    parts += [
        Part(field, filter_operators.part(path, one))
        for one in told.get("contains", ())
    ]


def _narrowed(
    name: str, path: str, value: object, most: int, clock: Clock
) -> dict[str, Any]:
    """Return the fields of `Filters` that one filter sets, where it is no fact."""
    if name in {*TIMES, time_range.RANGE}:
        return dict(time_range.parse_time_range(path, name, value, clock))
    if name == QUANTITY:
        return {"quantity": filter_operators.bounds(path, value)}
    if name == EXCLUDED:
        told = filter_operators.parse_operators(
            path, {"in": value}, most, filter_operators.LISTED
        )
        return {"not_ids": filter_operators.uuids(path, told["in"])}
    takes = _TAKES.get(name, filter_operators.SAID)
    told = filter_operators.parse_operators(path, value, most, takes)
    if name == THREAD:
        told = {
            said: filter_operators.uuids(path, listed) for said, listed in told.items()
        }
    elif name == AUTHOR:
        # A part of a name is enough with either operator.
        told = {
            "in" if said == "contains" else said: tuple(
                filter_operators.part(path, one) for one in listed
            )
            for said, listed in told.items()
        }
    elif name == "source" and (entries := filter_operators.entries_of(path, told)):
        return entries
    elif name == ENTRY:
        ids = filter_operators.refuse_empty_ids(path, told["in"])
        told = {"in": filter_operators.entry_ids(ids)}
    return {FIELDS[name][said]: listed for said, listed in told.items()}


def within(span: Span) -> Filters:
    """Return the filters of entries that were written in an interval."""
    since, until = time_range.written_ends(span)
    return Filters(since=since, until=until)


def is_known(key: str) -> bool:
    """Tell whether there is a filter of this name."""
    is_metadata = key.startswith(facts.METADATA) and key != facts.METADATA
    return key in _CALLED or is_metadata


def _check_name(key: str) -> None:
    if is_known(key):
        return
    raise InvalidRequestError(
        f"There is no filter {key[:100]!r}.{suggest.hint(key, _CALLED)} An attribute of"
        f" the logbook is asked for as 'metadata.{key[:100]}'.",
        code="unknown_filter",
        details={"allowed": list(ALLOWED)},
    )


def _first(one: str | None, other: str | None) -> str | None:
    return min(filter(None, (one, other)), default=None)


def _last(one: str | None, other: str | None) -> str | None:
    return max(filter(None, (one, other)), default=None)


def _list(values: tuple[str, ...] | None) -> list[str] | None:
    return None if values is None else list(values)


def _anywhere(
    parts: tuple[str, ...] | None, folded: Mapping[int, str | int] = _AS_IT_IS
) -> list[str] | None:
    if parts is None:
        return None
    return [f"%{part.translate(_WILD).translate(folded)}%" for part in parts]


def _keys(ids: tuple[str, ...]) -> list[str]:
    return [one for one in ids if str(parse_uuid(one)) == one]
