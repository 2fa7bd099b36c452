"""Lists the values that a filter can have: those of entries the caller may see."""

from dataclasses import dataclass

from shared.search.query.facet_request import Counting
from shared.search.query.filters import filters
from shared.search.query.plan import Plan
from shared.search.retrieval.engines import branch_query
from shared.search.retrieval.module_contract import Ask, Lexicon
from shared.search.retrieval.modules import facet_rows

# Other names of filters, and one more that this list has.
ALIASES = {**filters.ALIASES, "source_systems": "source"}
_MODULE = "filter-options"


@dataclass(frozen=True, slots=True)
class Options:
    """The commonest values, how many entries have each, and if all were counted."""

    values: tuple[tuple[str, int], ...]
    exact: bool


def list_options(
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
    asked = branch_query.build_branch_query(ask, lexicon, _MODULE)
    counted = facet_rows.counted(
        ask, asked, asked.question, counting, prefix=prefix, most_values=limit
    )
    (name,) = counting.facets
    return Options(tuple(counted.values.get(name, ())[:limit]), counted.exact)
