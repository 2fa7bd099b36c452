"""Reads the values of a filter: one value, or operators with several."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal

from shared.adapter_contract.entry import KINDS
from shared.entries import identity
from shared.errors import InvalidRequestError, ModuleNotEnabledError
from shared.ids import parse_uuid
from shared.search.query.filters import time_range
from shared.search.query.filters.fact_filters import QuantityBounds, WantedFact
from shared.text import facts
from shared.text.reading import quantities
from shared.text.words import languages, numerals
from shared.times.calendar import Clock

# Filters that take one of a few values: no entry has another.
_ONE_OF_A_FEW = {"kind": KINDS, "origin": ("human", "machine")}
_SIGN = re.compile("<=|>=|[<>=\u2264\u2265]")
# `5..10 mA`, `500 mA to 1 A`, `between 5 and 10 mA`.
_JOINED = re.compile(
    r"(?P<name>.*?)(?:"
    r"\b(?:between|zwischen) (?P<least>\S.*?) (?:and|und)"
    r"|(?:\b(?:from|von) )?(?P<first>[-+\u2212]?\.?\d\S*(?: [^\W\d]\w*)?)"
    r" ?(?:\.\.|\bto|\bbis))"
    r" ?(?P<last>[-+\u2212]?\.?\d.*)"
)
_NOT_EQUAL = re.compile("!=|\u2260|<>")
# No locale is known here: a text that may be 1500 or 1.5 is better left unread.
_DOUBTFUL = "de"
_SAID_SO = {"true": True, "false": False}
_OPERATORS = frozenset({"in", "not", "gte", "lte", "contains"})
# Operators on a name or a word: one of these, none of these, a part of it.
SAID = frozenset({"in", "not", "contains"})
LISTED = frozenset({"in", "not"})


def ends_and_rest(value: object) -> tuple[dict[str, object], object]:
    """Return the bounds of a filter, and its other operators; {}: there are none."""
    if not isinstance(value, Mapping) or not {"gte", "lte"} & set(value):
        return {}, value
    ends = {name: value[name] for name in ("gte", "lte") if name in value}
    return ends, {name: one for name, one in value.items() if name not in ends}


def between(
    path: str, field: str, ends: Mapping[str, object], clock: Clock
) -> QuantityBounds:
    """Return the bounds of a number, or of a date."""
    texts = {
        end: "" if isinstance(one, bool) else str(one) for end, one in ends.items()
    }
    numbers = {end: facts.size(one) for end, one in texts.items()}
    if None not in numbers.values():
        return QuantityBounds(field, numbers.get("gte"), numbers.get("lte"))
    moments = time_range.stamps(texts, clock)
    if moments is None:
        end = next(end for end, number in numbers.items() if number is None)
        message = "It is neither a number nor a date."
        if len(texts) > 1:
            message = "Both ends are numbers, or both are dates."
        raise InvalidRequestError.field(f"{path}.{end}", "filter_value", message)
    return QuantityBounds(facts.dated(field), moments.get("gte"), moments.get("lte"))


def as_texts(value: object) -> object:
    """Return the value of a filter with its numbers, true and false as texts."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, list):
        return [as_texts(one) for one in value]
    if isinstance(value, Mapping):
        return {name: as_texts(one) for name, one in value.items()}
    return value


def parse_operators(
    path: str, value: object, most: int, takes: frozenset[str]
) -> dict[str, tuple[str, ...]]:
    """Return the values by operator; a text alone stands for `in`."""
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
            if not isinstance(listed, str) or not listed.strip() or "in" in value:
                message = "`contains` takes a text, and stands beside `not` alone."
                raise InvalidRequestError.field(place, "filter_value", message)
            yield operator, (listed,)
            continue
        if not isinstance(listed, list) or not all(isinstance(v, str) for v in listed):
            message = f"`{operator}` takes a list of texts."
            raise InvalidRequestError.field(place, "filter_value", message)
        if not 1 <= len(listed) <= most:
            message = f"It takes 1 to {most} values."
            raise InvalidRequestError.field(place, "length", message)
        yield operator, tuple(dict.fromkeys(listed))


def part(path: str, text: str) -> str:
    """Return a part of a name or word as facts are compared; refuse an empty one."""
    found = facts.make_comparable(text)
    if not found:
        message = "A part of a name has a letter at least."
        raise InvalidRequestError.field(path, "length", message)
    return found


def entries_of(
    path: str, told: Mapping[str, tuple[str, ...]]
) -> dict[str, tuple[str, ...]]:
    """Return the entries whose URIs are given as a source; empty where none is.

    `POST /search` shows an entry's URI as its source, so a reader may filter by it.
    """
    written = [one for listed in told.values() for one in listed]
    found = [identity.parse_source_uri(one) for one in told.get("in", ())]
    named = [one for one in found if one is not None]
    if not any(one.startswith(identity.URI) for one in written):
        return {}
    sources = tuple(dict.fromkeys(one.source for one in named))
    if len(named) < len(written) or len(sources) > 1:
        message = "URIs of entries stand alone, and are of one source."
        raise InvalidRequestError.field(path, "filter_value", message)
    return {"sources": sources, "ids": tuple(one.external_id for one in named)}


def refuse_empty_ids(path: str, listed: tuple[str, ...]) -> tuple[str, ...]:
    """Return ids as they are, or refuse an empty one: no entry has it."""
    if not all(one.strip() for one in listed):
        raise InvalidRequestError.field(path, "length", "An id is not empty.")
    return listed


def entry_ids(written: Iterable[str]) -> tuple[str, ...]:
    """Return each id as written, and as a stored UUID where it may be one of ours."""
    both = (one for each in written for one in (each, str(parse_uuid(each) or each)))
    return tuple(dict.fromkeys(both))


def check_order(found: Mapping[str, object]) -> None:
    """Refuse an interval whose ends are swapped: nothing can lie in it."""
    for first, last, path in (
        ("since", "until", time_range.TO),
        ("happened_since", "happened_until", time_range.EVENT_TO),
    ):
        since, until = found.get(first), found.get(last)
        if since and until and str(since) > str(until):
            message = "It lies before the beginning: the ends are swapped."
            raise InvalidRequestError.field(f"filters.{path}", "ends_swapped", message)


def uuids(path: str, listed: tuple[str, ...]) -> tuple[str, ...]:
    """Return UUIDs in the form in which they are stored, or refuse what is none."""
    found = [parse_uuid(one) for one in listed]
    if None in found:
        message = "Ids of entries and of threads are UUIDs."
        raise InvalidRequestError.field(path, "filter_value", message)
    return tuple(map(str, found))


def attached(path: str, value: object) -> WantedFact:
    """Return the fact that an entry has a file, or that it has none."""
    # In a terminal everything is a text.
    said = _SAID_SO.get(value, value) if isinstance(value, str) else value
    if not isinstance(said, bool):
        raise InvalidRequestError.field(path, "filter_value", "It takes true or false.")
    listed = (facts.ATTACHMENT,)
    return WantedFact(facts.HAS, listed) if said else WantedFact(facts.HAS, (), listed)


def bounds(path: str, value: object) -> QuantityBounds:
    """Return a quantity in the unit of its dimension."""
    shape = (
        "A quantity is written as `vacuum > 1e-7 Torr`, or takes"
        " {unit, gte, lte, name}: a unit, and a number or two."
    )
    written = parse_bounds(value) if isinstance(value, str) else None
    if written is not None:
        return written
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
        size = quantities.convert_quantity(Decimal(str(number)), unit)
        if size is None:
            message = f"{unit[:20]!r} is no unit that is known here."
            raise InvalidRequestError.field(f"{path}.unit", "unknown_unit", message)
        dimension, sizes[end] = size
    named = " ".join(word for word, _, _ in facts.scan_words(name)) if name else None
    return QuantityBounds(dimension, sizes.get("gte"), sizes.get("lte"), named)


def parse_bounds(text: str) -> QuantityBounds | None:
    """Return the bounds of `vacuum > 1e-7 Torr`, `<300mA` or `5 to 10 mA`, or None.

    A sign alone leaves them out.
    """
    plain = text.strip()
    if _NOT_EQUAL.search(plain):
        return None
    sign, joined = _SIGN.search(plain), _JOINED.fullmatch(plain)
    if joined is not None and sign is None:
        return _between_sizes(joined)
    begin = sign.end() if sign else 0
    said = plain[begin:]
    for first, last in numerals.find_numerals(said, _DOUBTFUL):
        if sign and (last or said[: first.start].strip()):
            return None
        unit = said[(last or first).end :]
        low = quantities.convert_quantity(first.value, unit)
        high = quantities.convert_quantity(last.value, unit) if last else low
        if low is None or high is None or low[1] > high[1]:
            if sign:
                return None
            continue
        named = plain[: sign.start()] if sign else said[: first.start]
        least, most = _ends(sign[0] if sign else "=", low[1], high[1])
        name = " ".join(word for word, _, _ in facts.scan_words(named))
        return QuantityBounds(low[0], least, most, name or None)
    return None


def _between_sizes(joined: re.Match[str]) -> QuantityBounds | None:
    """Return the bounds between two sizes; the unit of the last may be that of both."""
    last = parse_bounds(joined["last"])
    number = joined["least"] or joined["first"]
    first = parse_bounds(number)
    if first is None:
        said = next(numerals.find_numerals(joined["last"], _DOUBTFUL), None)
        first = parse_bounds(number + joined["last"][said[0].end :]) if said else None
    if first is None or last is None or first.dimension != last.dimension:
        return None
    least, most = first.least, last.most
    if least is None or most is None or least > most:
        return None
    name = " ".join(word for word, _, _ in facts.scan_words(joined["name"]))
    return QuantityBounds(first.dimension, least, most, name or None)


def _ends(sign: str, low: float, high: float) -> tuple[float | None, float | None]:
    if sign == "=":
        return low, high
    if sign in "<=\u2264":
        return None, high if sign != "<" else math.nextafter(high, -math.inf)
    return (low if sign != ">" else math.nextafter(low, math.inf)), None


def check_known(path: str, name: str, given: Iterable[str]) -> tuple[str, ...]:
    """Return the values as entries have them; refuse values that no entry can have."""
    if name == "language":
        return tuple(_language(path, one) for one in given)
    values = _ONE_OF_A_FEW.get(name)
    if values is None:
        return tuple(given)
    return tuple(_one_of(path, one, values) for one in given)


def _one_of(path: str, given: str, values: Iterable[str]) -> str:
    if given.strip().lower() in values:
        return given
    message = f"{given[:40]!r} is none of {', '.join(values)}."
    raise InvalidRequestError.field(path, "filter_value", message)


def _language(path: str, given: str) -> str:
    plain = given.strip().lower()
    found = languages.parse_language_tag(plain)
    if found is not None or plain == languages.UNKNOWN:
        return found or plain
    message = f"{given[:40]!r} is no language such as en, de or unknown."
    raise InvalidRequestError.field(path, "filter_value", message)
