"""Writes the filters of a search for OpenSearch, as NARROWED does in SQL."""

from typing import Any

from shared.search.query.filters.fact_filters import Part, QuantityBounds
from shared.search.query.filters.filters import Filters

Query = dict[str, Any]
_WILD = str.maketrans({"\\": "\\\\", "*": "\\*", "?": "\\?"})


def required(filters: Filters) -> list[Query]:
    """Return the queries that every hit must match."""
    found = _any_of("source", filters.sources) + _any_of("logbooks", filters.logbooks)
    found += [
        {"terms": {"facts": one.wanted_terms}} for one in filters.facts if one.any_of
    ]
    if filters.people is not None:
        found.append({"bool": {"should": [_part(one) for one in filters.people]}})
    for field, parts in (
        ("source", filters.source_parts),
        ("logbooks", filters.logbook_parts),
    ):
        found += [_anywhere(field, one, is_folded=True) for one in parts or ()]
    found += [_has(one) for one in filters.fact_parts]
    if filters.quantity is not None:
        found.append(_within(filters.quantity))
    found += [_within(one) for one in filters.ranges]
    if filters.ids is not None:
        ids = list(filters.ids)
        ways = [{"terms": {"external_id": ids}}, {"ids": {"values": ids}}]
        found.append({"bool": {"should": ways}})
    if filters.threads is not None:
        # Threads live in Postgres: `thread_filter` has looked their entries up.
        found.append({"ids": {"values": list(filters.members or ())}})
    found += _between("entry_time", filters.since, filters.until)
    found += _between("event_time", filters.happened_since, filters.happened_until)
    return found


def excluded(filters: Filters) -> list[Query]:
    """Return the queries that no hit may match."""
    found: list[Query] = [
        {"terms": {"facts": one.unwanted_terms}} for one in filters.facts if one.none_of
    ]
    if filters.not_ids is not None:
        found.append({"ids": {"values": list(filters.not_ids)}})
    found += _any_of("source", filters.not_sources)
    found += _any_of("logbooks", filters.not_logbooks)
    found += [_part(one) for one in filters.not_people or ()]
    if filters.not_threads is not None:
        found.append({"ids": {"values": list(filters.not_members or ())}})
    return found


def _any_of(field: str, values: tuple[str, ...] | None) -> list[Query]:
    return [] if values is None else [{"terms": {field: list(values)}}]


def _between(field: str, since: str | None, until: str | None) -> list[Query]:
    asked = {"gte": since, "lt": until}
    ends = {end: moment for end, moment in asked.items() if moment is not None}
    return [{"range": {field: ends}}] if ends else []


def _part(name: str) -> Query:
    return _anywhere("people", name)


def _has(part: Part) -> Query:
    ways = [_anywhere("facts", one, begin) for begin, one in part.terms]
    return {"bool": {"should": ways, "minimum_should_match": 1}}


def _anywhere(
    field: str, part: str, begin: str = "", *, is_folded: bool = False
) -> Query:
    value = f"{begin.translate(_WILD)}*{part.translate(_WILD)}*"
    folded = {"case_insensitive": True} if is_folded else {}
    return {"wildcard": {field: {"value": value, **folded}}}


def _within(bounds: QuantityBounds) -> Query:
    asked = {"gte": bounds.least, "lte": bounds.most}
    ends = {end: size for end, size in asked.items() if size is not None}
    must: list[Query] = [
        {"term": {"quantities.dimension": bounds.dimension}},
        {"range": {"quantities.value": ends}},
    ]
    if bounds.name:
        part = f"*{bounds.name.translate(_WILD)}*"
        must.append({"wildcard": {"quantities.name": {"value": part}}})
    return {"nested": {"path": "quantities", "query": {"bool": {"filter": must}}}}
