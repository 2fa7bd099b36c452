"""What a question was read as: names, times and its kind, each taken away by a link."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from api.web.clock_times import ClockTimes
from api.web.search_form import SearchForm
from shared.search.query.entities import find_entities_in_words
from shared.search.query.modes import AUTO
from shared.search.query.plan import Plan
from shared.search.results.visible_expansions import FUZZY
from shared.text.facility.facility import Facility

# As a search says it; the first of several is what most entries have.
_TAKEN = re.compile(r"`([^`]+)` as ([^,;.]+)")
_KINDS = {
    "lookup": "words to look up",
    "exact": "exactly these words",
    "question": "a question",
    "compare": "a comparison",
    "troubleshoot": "a question why",
    "timeline": "a course of events",
    "recent": "the newest",
    "count": "a question how many",
}


@dataclass(frozen=True, slots=True)
class Reading:
    """One thing that was read out of a question, and the address without it."""

    label: str
    text: str
    # None: it cannot be taken away.
    without: Mapping[str, Any] | None


def list_readings(
    form: SearchForm, plan: Plan, facility: Facility, times: ClockTimes
) -> list[Reading]:
    """Return everything that the plan has read in the question."""
    return [
        *_kind(form, plan),
        *_names(form, plan, facility),
        *_times(form, plan, times),
        *(
            Reading(name, value, form.without_filter(name, value))
            for name, values in form.filters.items()
            for value in values
        ),
        *(
            Reading(name, str(value), form.changed(parameters=_but(form, name)))
            for name, value in form.parameters.items()
        ),
    ]


def _but(form: SearchForm, name: str) -> Mapping[str, Any]:
    return {key: one for key, one in form.parameters.items() if key != name}


def _kind(form: SearchForm, plan: Plan) -> Iterator[Reading]:
    if not form.q.strip():
        return
    if form.mode != AUTO:
        yield Reading("mode", form.mode, form.changed(mode=AUTO))
        return
    by_words = form.changed(mode="keyword")
    yield Reading("kind", _KINDS.get(plan.intent, plan.intent), by_words)


def _names(form: SearchForm, plan: Plan, facility: Facility) -> Iterator[Reading]:
    seen = set()
    for one in find_entities_in_words(plan, facility):
        if (one.kind, one.canonical) in seen:
            continue
        seen.add((one.kind, one.canonical))
        same = one.canonical.casefold() == one.name.casefold()
        text = one.name if same else f"{one.name} = {one.canonical}"
        yield Reading(one.kind, text, without_words(form, one.name))


def _times(form: SearchForm, plan: Plan, times: ClockTimes) -> Iterator[Reading]:
    applied = [
        *(("written", one) for one in plan.time.written),
        *(("happened", one) for one in plan.time.happened),
    ]
    for label, one in applied:
        ends = [
            f"{word} {times.short(end)}"
            for word, end in (("from", one.since), ("before", one.until))
            if end
        ]
        words = _words_of_time(form, one.expression)
        said = f"{words}: " if words else ""
        without = without_words(form, words)
        if without is None and (form.since or form.until):
            without = form.changed(since="", until="")
        yield Reading(label, said + " ".join(ends), without)


def _words_of_time(form: SearchForm, expression: str) -> str:
    """Return the words of the question that a time was read from.

    Before them an expression has what the address gives, by the names of programs.
    """
    given = form.times.items()
    ends = " ".join(f"{name}={end}" for name, end in given)
    return expression.removeprefix(ends).strip()


def without_times(form: SearchForm, plan: Plan) -> SearchForm:
    """Return the question without its words for when hits were written."""
    for one in plan.time.written:
        rest = _without(form.q, _words_of_time(form, one.expression))
        form = form if rest is None else replace(form, q=rest)
    return form


def without_words(form: SearchForm, words: str) -> Mapping[str, Any] | None:
    """Return the address of the question without some of its words, if it has them."""
    rest = _without(form.q, words)
    return None if rest is None else form.changed(q=rest)


def _without(query: str, words: str) -> str | None:
    # Whole words: RF is no part of RFQ.
    pattern = rf"(?<!\w){re.escape(words)}(?!\w)"
    found = re.search(pattern, query, re.IGNORECASE) if words else None
    if found is None:
        return None
    return " ".join(f"{query[: found.start()]} {query[found.end() :]}".split())


def find_meant(
    form: SearchForm, diagnostics: Iterable[Mapping[str, Any]]
) -> SearchForm | None:
    """Return the question as a search has read it, whose hits are on the page.

    Words of letters alone are read so, and only as what stands in a hit: a device's
    name or a number is never another's.
    """
    said = "".join(one["message"] for one in diagnostics if one["code"] == FUZZY)
    query = form.q
    for typed, meant in _TAKEN.findall(said):
        whole = rf"(?<!\w){re.escape(typed)}(?!\w)"
        query = meant.join(re.split(whole, query, flags=re.IGNORECASE))
    return replace(form, q=query, page=1, open="") if query != form.q else None
