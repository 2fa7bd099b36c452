"""`logchord search --debug`: what each word of the question became."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from api.cli.render.text_layout import labelled

# What stands in the plan and is told elsewhere: here, or of a plan alone.
APART = frozenset(
    (
        *("time", "entities", "terms", "phrases", "tsquery", "opensearch_query"),
        *("engines", "diagnostics"),
    )
)
# The most terms shown of a pattern; `--json` has all.
_MOST_TERMS = 20
_INDENT = 6
_LATER = "looked up when it is searched for"


def lines(plan: dict[str, Any], width: int) -> Iterator[str]:
    """Yield the time that was read and what each word became, by language."""
    yield from _fitting(_told(plan), width)


def queries(plan: dict[str, Any], width: int) -> Iterator[str]:
    """Yield what both engines were asked, by language; of OpenSearch it is long."""
    yield from _fitting(_asked(plan), width)


def _fitting(told: Iterator[tuple[str, str | None]], width: int) -> Iterator[str]:
    for label, text in told:
        if text is None:
            yield label
        else:
            yield from labelled(f"  {label}", text, width, column=_INDENT).split("\n")


def _told(plan: dict[str, Any]) -> Iterator[tuple[str, str | None]]:
    time = plan.get("time") or {"applied": []}
    for one in time["applied"]:
        whose = "read from" if time["inferred"] else "given as"
        ends = f"{one['from'] or '...'} to {one['to'] or '...'}"
        yield "time", f"{whose} {one['expression']}: {one['field']} {ends}"
    for one in plan.get("entities", ()):
        yield "names", f"{one['name']} ({one['kind']}) -> {one['canonical']}"
    if "terms" not in plan:
        return
    yield "words", None
    for one in plan["terms"]:
        found = _LATER
        if one["terms"] is not None:
            found = _first([*dict.fromkeys([*one["terms"], *one["idents"]])])
        yield _languages(one), f"{_sign(one)}{one['word']} ({one['how']}) -> {found}"
    if plan["phrases"] is None:
        yield "", f"phrases -> {_LATER}"
    for one in plan["phrases"] or ():
        places = " ".join(_either(place) for place in one["places"])
        yield _languages(one), f"{_sign(one)}phrase -> {places}"


def _asked(plan: dict[str, Any]) -> Iterator[tuple[str, str | None]]:
    if "tsquery" not in plan:
        return
    yield "tsquery", None
    if plan["tsquery"] is None:
        yield "", _LATER
        return
    for one in plan["tsquery"]:
        yield _languages(one), one["query"]
    if plan["opensearch_query"]:
        yield "opensearch_query", None
        for guard in plan["opensearch_query"]["query"]["bool"]["should"]:
            yield "", json.dumps(guard, ensure_ascii=False)


def _languages(one: dict[str, Any]) -> str:
    return ", ".join(one["languages"])


def _sign(one: dict[str, Any]) -> str:
    return "-" if one["negated"] else ""


def _first(terms: list[str]) -> str:
    more = len(terms) - _MOST_TERMS
    told = " | ".join(terms[:_MOST_TERMS]) or "nothing"
    return f"{told} | {more} more" if more > 0 else told


def _either(place: list[str]) -> str:
    return place[0] if len(place) == 1 else f"({_first(place)})"
