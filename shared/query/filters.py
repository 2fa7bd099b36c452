"""Hard filters: parsed once, compiled by each engine, never ignored."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Self
from uuid import UUID

from shared.errors import InvalidRequestError, ModuleNotEnabledError
from shared.query import period
from shared.query.language.calendar import NO_CLOCK, Clock
from shared.query.wanted import Bounds, Wanted
from shared.text import facts, quantities
from shared.text.analyser import quoted
from shared.text.facts import MARK, comparable

AUTHOR, HAS_ATTACHMENT, QUANTITY = "author", "has_attachment", "quantity"
THREAD = "thread_id"
EXCLUDED = "exclude_entry_ids"
# Known of every entry once its metadata is read.
FACTS = (
    *("category", "device", "kind", "language", "level", "origin", "shift"),
    *("system", "tag"),
)
_TIMES = (period.FROM, period.TO, period.EVENT_FROM, period.EVENT_TO)
BUILT = (
    *(AUTHOR, *FACTS, *_TIMES),
    *(EXCLUDED, HAS_ATTACHMENT, "logbook", QUANTITY, "source", THREAD),
)
# As they are told; the last takes any key of the metadata.
ALLOWED = (*BUILT, f"{facts.METADATA}<key>")
ALIASES = {
    "authors": AUTHOR,
    "end_date": period.TO,
    "source_system": "source",
    "start_date": period.FROM,
    "tags": "tag",
}
_SAID_SO = {"true": True, "false": False}
_TWICE = "It is given twice."
_OPERATORS = frozenset({"in", "not", "gte", "lte", "contains"})
_WILD = str.maketrans({"\\": "\\\\", "%": "\\%", "_": "\\_"})


@dataclass(frozen=True, slots=True)
class Filters:
    """What a hit must be; None does not narrow."""

    sources: tuple[str, ...] | None = None
    logbooks: tuple[str, ...] | None = None
    facts: tuple[Wanted, ...] = ()
    # Of a name, as it is compared: any part of it, of any of these.
    people: tuple[str, ...] | None = None
    quantity: Bounds | None = None
    # Numbers of metadata, each by its name.
    ranges: tuple[Bounds, ...] = ()
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

    def __bool__(self) -> bool:
        """Whether anything is asked for at all."""
        return self != _NOTHING

    def both(self, other: Filters) -> Filters | None:
        """Return what asks for this and the other; None: no one filter can say so."""
        told: dict[str, Any] = {}
        for name in ("logbooks", "people", "quantity", "ids", "not_ids", "threads"):
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
            ranges=tuple(dict.fromkeys((*self.ranges, *other.ranges))),
            since=_last(self.since, other.since),
            until=_first(self.until, other.until),
            happened_since=_last(self.happened_since, other.happened_since),
            happened_until=_first(self.happened_until, other.happened_until),
            **told,
        )

    @property
    def params(self) -> dict[str, Any]:
        """Return what an SQL constant with these filters takes."""
        bounds = self.quantity or Bounds("")
        return {
            "only_sources": None if self.sources is None else list(self.sources),
            "only_logbooks": None if self.logbooks is None else list(self.logbooks),
            "only_facts": self._tsquery(),
            "only_people": None
            if self.people is None
            else [f"%{part.translate(_WILD)}%" for part in self.people],
            "only_dimension": bounds.dimension or None,
            "only_least": -math.inf if bounds.least is None else bounds.least,
            "only_most": math.inf if bounds.most is None else bounds.most,
            "only_named": f"%{(bounds.name or '').translate(_WILD)}%",
            "only_ranges": self._ranges(),
            "only_since": self.since,
            "only_until": self.until,
            "only_happened_since": self.happened_since,
            "only_happened_until": self.happened_until,
            "only_ids": None if self.ids is None else list(self.ids),
            # Those that may be an entry's own id: an index knows them as such.
            "only_keys": None if self.ids is None else _keys(self.ids),
            "only_threads": None if self.threads is None else list(self.threads),
            "only_others": None if self.not_ids is None else list(self.not_ids),
            "only_beyond": None,
        }

    def _ranges(self) -> str | None:
        told = [
            {"dimension": one.dimension, "least": one.least, "most": one.most}
            for one in self.ranges
        ]
        return json.dumps(told) if told else None

    def _tsquery(self) -> str | None:
        parts = [
            f"{mark}({' | '.join(quoted(MARK + term) for term in terms)})"
            for one in self.facts
            for mark, terms in (("", one.wanted_terms), ("!", one.unwanted_terms))
            if terms
        ]
        return " & ".join(parts) or None

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Self:
        """Read filters back from the JSON of a plan."""
        bounds = values.get("quantity")
        return cls(
            sources=_tuple(values["sources"]),
            logbooks=_tuple(values["logbooks"]),
            facts=tuple(
                Wanted(one["field"], tuple(one["any_of"]), tuple(one["none_of"]))
                for one in values.get("facts") or ()
            ),
            people=_tuple(values.get("people")),
            quantity=Bounds(**bounds) if bounds else None,
            ranges=tuple(Bounds(**one) for one in values.get("ranges") or ()),
            since=values.get("since"),
            until=values.get("until"),
            happened_since=values.get("happened_since"),
            happened_until=values.get("happened_until"),
            ids=_tuple(values.get("ids")),
            not_ids=_tuple(values.get("not_ids")),
            threads=_tuple(values.get("threads")),
        )


_NOTHING = Filters()


def parse(
    given: Mapping[str, object], *, max_values: int, clock: Clock = NO_CLOCK
) -> Filters:
    """Return the filters, or refuse what is unknown, not built or badly formed."""
    found: dict[str, Any] = {}
    wanted: list[Wanted] = []
    ranges: list[Bounds] = []
    seen: set[str] = set()
    for key, value in given.items():
        name = ALIASES.get(key, key)
        path = f"filters.{key}"
        _check_name(key, name)
        if name in seen:
            raise InvalidRequestError.field(path, "duplicate", _TWICE)
        seen.add(name)
        if name == HAS_ATTACHMENT:
            wanted.append(_attached(path, value))
        elif name in FACTS:
            said = _values(path, value, max_values, {"in", "not"})
            wanted.append(Wanted(name, said.get("in", ()), said.get("not", ())))
        elif name.startswith(facts.METADATA):
            field = facts.metadata_field(name.removeprefix(facts.METADATA))
            ends, rest = _ends_and_rest(value)
            if ends:
                ranges.append(_range(path, field, ends))
            if rest != {} or not ends:
                said = _values(path, _as_texts(rest), max_values, {"in", "not"})
                wanted.append(Wanted(field, said.get("in", ()), said.get("not", ())))
        else:
            narrowed = _narrowed(name, path, value, max_values, clock)
            if set(narrowed) & set(found):
                raise InvalidRequestError.field(path, "duplicate", _TWICE)
            found |= narrowed
    return Filters(**found, facts=tuple(wanted), ranges=tuple(ranges))


def _narrowed(
    name: str, path: str, value: object, most: int, clock: Clock
) -> dict[str, Any]:
    """Return what one filter that is no fact makes of the fields of Filters."""
    if name in {*_TIMES, period.RANGE}:
        return dict(period.read(path, name, value, clock))
    if name == EXCLUDED:
        return {"not_ids": _uuids(path, {"in": value}, most)}
    if name == THREAD:
        return {"threads": _uuids(path, value, most)}
    if name == QUANTITY:
        return {"quantity": _bounds(path, value)}
    if name != AUTHOR:
        return {f"{name}s": _values(path, value, most, {"in"})["in"]}
    parts = _values(path, value, most, {"in", "contains"})["in"]
    people = tuple(comparable(part) for part in parts)
    if "" in people:
        message = "A part of a name has a letter at least."
        raise InvalidRequestError.field(path, "length", message)
    return {"people": people}


def _check_name(key: str, name: str) -> None:
    is_metadata = name.startswith(facts.METADATA) and name != facts.METADATA
    if name in BUILT or name == period.RANGE or is_metadata:
        return
    raise InvalidRequestError(
        f"There is no filter {key!r}.",
        code="unknown_filter",
        details={"allowed": list(ALLOWED)},
    )


def _ends_and_rest(value: object) -> tuple[dict[str, object], object]:
    """Return the bounds of a filter, and what else it says; {}: nothing else."""
    if not isinstance(value, Mapping) or not {"gte", "lte"} & set(value):
        return {}, value
    ends = {name: value[name] for name in ("gte", "lte") if name in value}
    return ends, {name: one for name, one in value.items() if name not in ends}


def _range(path: str, field: str, ends: Mapping[str, object]) -> Bounds:
    sizes = {}
    for end, given in ends.items():
        number = None if isinstance(given, bool) else facts.size(str(given))
        if number is None:
            message = "It is a number."
            raise InvalidRequestError.field(f"{path}.{end}", "filter_value", message)
        sizes[end] = number
    return Bounds(field, sizes.get("gte"), sizes.get("lte"))


def _as_texts(value: object) -> object:
    """Return the value of a filter with its numbers, true and false as texts."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, list):
        return [_as_texts(one) for one in value]
    if isinstance(value, Mapping):
        return {name: _as_texts(one) for name, one in value.items()}
    return value


def _values(
    path: str, value: object, most: int, takes: set[str]
) -> dict[str, tuple[str, ...]]:
    """Return the values by operator; a text is `in` with itself alone."""
    if isinstance(value, str):
        return {"in": (value,)}
    shape = f"A filter takes a text, or {{{', '.join(sorted(takes))}: ...}}."
    if not isinstance(value, Mapping) or not value:
        raise InvalidRequestError.field(path, "filter_value", shape)
    later = (_OPERATORS - takes) & set(value)
    if later:
        raise ModuleNotEnabledError(
            f"The operator {min(later)!r} of {path} is not built in yet.",
            available=sorted(takes),
        )
    if not set(value) <= takes:
        raise InvalidRequestError.field(path, "filter_value", shape)
    return dict(_lists(path, value, most))


def _lists(
    path: str, value: Mapping[str, object], most: int
) -> Iterator[tuple[str, tuple[str, ...]]]:
    for operator, listed in value.items():
        place = f"{path}.{operator}"
        if operator == "contains":
            if not isinstance(listed, str) or len(value) > 1:
                raise InvalidRequestError.field(
                    place, "filter_value", "`contains` stands alone and takes a text."
                )
            yield "in", (listed,)
            continue
        if not isinstance(listed, list) or not all(isinstance(v, str) for v in listed):
            message = f"`{operator}` takes a list of texts."
            raise InvalidRequestError.field(place, "filter_value", message)
        if not 1 <= len(listed) <= most:
            message = f"`{operator}` takes 1 to {most} values."
            raise InvalidRequestError.field(place, "length", message)
        yield operator, tuple(dict.fromkeys(listed))


def _uuids(path: str, value: object, most: int) -> tuple[str, ...]:
    listed = _values(path, value, most, {"in"})["in"]
    try:
        return tuple(str(UUID(one)) for one in listed)
    except ValueError:
        message = "Ids of entries and of threads are UUIDs."
        raise InvalidRequestError.field(path, "filter_value", message) from None


def _attached(path: str, value: object) -> Wanted:
    # In a terminal everything is a text.
    said = _SAID_SO.get(value, value) if isinstance(value, str) else value
    if not isinstance(said, bool):
        message = "It takes true or false."
        raise InvalidRequestError.field(path, "filter_value", message)
    listed = (facts.ATTACHMENT,)
    return Wanted(facts.HAS, listed) if said else Wanted(facts.HAS, (), listed)


def _bounds(path: str, value: object) -> Bounds:
    shape = "A quantity takes {unit, gte, lte, name}: a unit, and a number or two."
    if not isinstance(value, Mapping) or set(value) - {"unit", "gte", "lte", "name"}:
        raise InvalidRequestError.field(path, "filter_value", shape)
    unit, name = value.get("unit"), value.get("name")
    ends = {end: value[end] for end in ("gte", "lte") if value.get(end) is not None}
    if not isinstance(unit, str) or not ends or not isinstance(name, str | None):
        raise InvalidRequestError.field(path, "filter_value", shape)
    sizes: dict[str, float] = {}
    dimension = ""
    for end, number in ends.items():
        is_number = isinstance(number, int | float) and not isinstance(number, bool)
        if not is_number or not math.isfinite(number):
            place = f"{path}.{end}"
            raise InvalidRequestError.field(place, "filter_value", "It is a number.")
        size = quantities.converted(Decimal(str(number)), unit)
        if size is None:
            message = f"{unit[:20]!r} is no unit that is known here."
            raise InvalidRequestError.field(f"{path}.unit", "unknown_unit", message)
        dimension, sizes[end] = size
    named = " ".join(word for word, _, _ in facts.words(name)) if name else None
    return Bounds(dimension, sizes.get("gte"), sizes.get("lte"), named)


def _first(one: str | None, other: str | None) -> str | None:
    return min(filter(None, (one, other)), default=None)


def _last(one: str | None, other: str | None) -> str | None:
    return max(filter(None, (one, other)), default=None)


def _tuple(listed: list[str] | None) -> tuple[str, ...] | None:
    return None if listed is None else tuple(listed)


def _keys(ids: tuple[str, ...]) -> list[str]:
    return [one for one in ids if _is_key(one)]


def _is_key(text: str) -> bool:
    try:
        return str(UUID(text)) == text
    except ValueError:
        return False
