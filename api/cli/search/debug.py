"""`logchord search --debug`: the plan, when each branch ran, and every hit's score."""

import json
from collections.abc import Iterator
from typing import Any

from api.cli.render.text_layout import labelled, padded

_BAR, _LEAST_BAR = 40, 12
_NAME, _PLAN, _NARROW = 12, 20, 60
# What stands in the plan and is told elsewhere: here, or of a plan alone.
_APART = frozenset(
    (
        *("time", "entities", "terms", "phrases", "tsquery", "opensearch_query"),
        *("engines", "diagnostics"),
    )
)
# The most terms shown of a pattern; `--json` has all.
_MOST_TERMS = 20
_INDENT = 6
_LATER = "looked up when it is searched for"


def lines(answer: dict[str, Any], width: int) -> Iterator[str]:
    """Yield what the answer tells of itself, to be read in a terminal."""
    yield from _plan(answer["plan"], width)
    yield "branches"
    yield from _timeline(answer["branches"], answer["search_duration_ms"], width)
    took = [f"{name} {ms:.1f} ms" for name, ms in sorted(answer["timings_ms"].items())]
    yield from labelled("took", took, width, column=6).split("\n")
    yield "scores"
    whose = {
        one["entry_id"]: f"{one['source']}/{one['external_id']}"
        for one in answer["results"]
        if "source" in one
    }
    for place, one in enumerate(answer["score_trace"], start=1):
        yield from _score(place, one, whose.get(one["entry_id"], ""), width)
    # Last, for it is the longest.
    yield from _fitting(_engine_facts(answer["plan"]), width)


def of_plan(plan: dict[str, Any], width: int) -> Iterator[str]:
    """Yield a plan that was asked for alone, in the same words."""
    yield from _plan(plan, width)
    yield "engines"
    for one in plan["engines"]:
        told = [
            one["engine"],
            *([f"else {one['fallback']}"] if one["fallback"] else []),
            f"circuit {one['circuit'] or 'not met lately'}",
        ]
        label, column = f"  {one['branch']}", len("  ") + _NAME + len(" ")
        yield from labelled(label, told, width, column=column).split("\n")
    yield from _fitting(_engine_facts(plan), width)


def _plan(plan: dict[str, Any], width: int) -> Iterator[str]:
    yield "plan"
    column = _PLAN if width >= _NARROW else _NAME
    for name, value in sorted(plan.items()):
        if name in _APART:
            continue
        yield from labelled(f"  {name}", _told(value), width, column=column).split("\n")
    yield from _fitting(_plan_facts(plan), width)


def _score(place: int, one: dict[str, Any], whose: str, width: int) -> Iterator[str]:
    factors = "".join(f" x {name} {f:g}" for name, f in one["factors"].items())
    steps = [whose] if whose else []
    # What is written behind the map is what it is a map of, and no product of its own.
    named = one.get("calibration", "none")
    of = "" if named == "none" else f"{named} of "
    score = f"{one['calibrated']:.4f} = {of}{one['fused']:.4f}{factors}"
    first, *rest = [score, *steps, *map(str, one["steps"])]
    yield from labelled(f"  {place:>2}.", first, width, column=6).split("\n")
    for step in rest:
        yield from labelled("", step, width, column=6).split("\n")


def _timeline(
    branches: list[dict[str, Any]], total_ms: float, width: int
) -> Iterator[str]:
    """Yield a bar for each branch: waiting as dots, working as hashes."""
    ends = [one["queued_ms"] + one["took_ms"] for one in branches]
    whole = max([total_ms, *ends, 1e-6])
    wide = max([_NAME, *(len(one["name"]) for one in branches)])
    named = [(f"  {padded(one['name'], wide)} ", _fared(one)) for one in branches]
    beside = max((len(name) + len(told) for name, told in named), default=0)
    room = min(_BAR, width - beside - len("|| "))
    for one, (name, told) in zip(branches, named, strict=True):
        if room >= _LEAST_BAR:
            yield f"{name}|{_bar(one, whole, room)}| {told}"
            continue
        # Where both do not fit side by side, the bar has a line of its own.
        yield from labelled(name.rstrip(), told, width, column=len(name)).split("\n")
        yield f"    |{_bar(one, whole, min(_BAR, width - len('    ||')))}|"


def _fared(one: dict[str, Any]) -> str:
    again = ", asked twice" if one["attempts"] > 1 else ""
    return f"{one['queued_ms']:.1f} + {one['took_ms']:.1f} ms, {one['status']}{again}"


def _bar(one: dict[str, Any], whole: float, room: int) -> str:
    waited: int = round(room * one["queued_ms"] / whole)
    worked: int = max(1, round(room * one["took_ms"] / whole))
    return ("." * waited + "#" * worked)[:room].ljust(room)


def _told(value: object) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, dict):
        told = (
            f"{name} ({_told(one)})" if isinstance(one, dict) else f"{name} {one}"
            for name, one in value.items()
        )
        return ", ".join(told) or "none"
    if isinstance(value, list):
        return ", ".join(str(one) for one in value) or "none"
    return str(value)


def _fitting(told: Iterator[tuple[str, str | None]], width: int) -> Iterator[str]:
    for label, text in told:
        if text is None:
            yield label
        else:
            yield from labelled(f"  {label}", text, width, column=_INDENT).split("\n")


def _plan_facts(plan: dict[str, Any]) -> Iterator[tuple[str, str | None]]:
    """Yield the time that was read and what each word became, by language."""
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


def _engine_facts(plan: dict[str, Any]) -> Iterator[tuple[str, str | None]]:
    """Yield what both engines were asked, by language; of OpenSearch it is long."""
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
