"""Which values a filter can be given: those of entries that the caller may see."""

from __future__ import annotations

from dataclasses import dataclass

from shared.query import filters
from shared.query.counting import Counting
from shared.query.plan import Plan
from shared.retrieval import facet_rows, questions
from shared.retrieval.module import Ask, Lexicon

# Beside what filters are called, too.
ALIASES = {**filters.ALIASES, "source_systems": "source"}
_MODULE = "filter-options"


@dataclass(frozen=True, slots=True)
class Options:
    """The commonest values, how many entries have each, and if all were counted."""

    values: tuple[tuple[str, int], ...]
    exact: bool


def of(
    plan: Plan,
    lexicon: Lexicon,
    seconds: float,
    counting: Counting,
    *,
    prefix: str | None,
    limit: int,
) -> Options:
    """Return the values of the one facet that is counted, the commonest first."""
    ask = Ask.lasting(plan, seconds)
    asked = questions.read(ask, lexicon, _MODULE)
    counted = facet_rows.counted(
        ask, asked, asked.question, counting, prefix=prefix, most_values=limit
    )
    (name,) = counting.facets
    found = counted.values.get(name, ())
    return Options(tuple(found[:limit]), counted.exact)
