"""Writes a condition as a query of OpenSearch, as `tsquery` does for Postgres."""

from collections.abc import Sequence
from typing import Any

from shared.search.query.compiled import conditions
from shared.search.query.compiled.conditions import Condition
from shared.search.retrieval.engines import os_filters

Query = dict[str, Any]

_NOTHING: Query = {"match_none": {}}


def write_os_query(condition: Condition) -> Query:
    """Write a condition as a query; its terms are values, and nothing is parsed."""
    match condition:
        case conditions.All(()):
            return {"match_all": {}}
        case conditions.AnyOf(()):
            return _NOTHING
        case conditions.All(parts, ranking=ranking):
            return _all(parts, ranking)
        case conditions.AnyOf(parts):
            return _any([write_os_query(part) for part in parts])
        case conditions.Not(part):
            return {"bool": {"must_not": [write_os_query(part)]}}
        case _:
            return _leaf(condition)


def _leaf(leaf: conditions.Leaf) -> Query:
    match leaf:
        case conditions.Clause():
            return _clause(leaf)
        case conditions.OneOf(terms, idents):
            ways: list[Query] = [{"terms": {"stream": list(terms)}}] if terms else []
            return _any([*ways, *_named(idents)])
        case conditions.Places(places) if not all(places):
            return _NOTHING
        case conditions.Places(places):
            spans = [_span(place) for place in places]
            if len(spans) == 1:
                return spans[0]
            return {"span_near": {"clauses": spans, "slop": 0, "in_order": True}}
        case conditions.Passes(filters=filters):
            required = os_filters.required(filters)
            excluded = os_filters.excluded(filters)
            return {"bool": {"filter": required, "must_not": excluded}}


def _all(parts: Sequence[Condition], ranking: Sequence[Condition]) -> Query:
    return {
        "bool": {
            "must": [
                write_os_query(one)
                for one in parts
                if not isinstance(one, conditions.Not)
            ],
            "must_not": [
                write_os_query(one.part)
                for one in parts
                if isinstance(one, conditions.Not)
            ],
            "should": [write_os_query(one) for one in ranking],
            # Parts that only rank are not required.
            "minimum_should_match": 0,
        }
    }


def _any(ways: list[Query]) -> Query:
    if not ways:
        return _NOTHING
    return {"bool": {"should": ways, "minimum_should_match": 1}}


def _clause(clause: conditions.Clause) -> Query:
    ways: list[Query] = []
    for phrase in (clause.lexemes, *clause.also):
        if len(phrase) == 1:
            ways.append({"term": {"stream": {"value": phrase[0]}}})
        elif phrase:
            ways.append({"match_phrase": {"stream": {"query": " ".join(phrase)}}})
    return _any([*ways, *_named(clause.idents)])


def _named(idents: Sequence[str]) -> list[Query]:
    return [{"terms": {"idents": list(idents)}}] if idents else []


def _span(terms: Sequence[str]) -> Query:
    ways: list[Query] = [{"span_term": {"stream": term}} for term in terms]
    return ways[0] if len(ways) == 1 else {"span_or": {"clauses": ways}}
