"""What filters the address of a listing of entries asks for."""

from collections.abc import Mapping
from typing import Any

from starlette.datastructures import QueryParams

from shared.search.query.filters import filters, time_range
from shared.text import door
from shared.times.calendar import Clock

# These are parameters by themselves, and take several values each.
_DECLARED = frozenset({"source", "logbook"})
_LISTS = frozenset({time_range.RANGE, filters.EXCLUDED})
# As the description has them: a value, or several of which any is enough.
PARAMETERS = [
    {
        "name": name,
        "in": "query",
        "required": False,
        "description": "A filter of a search; several values mean any of them.",
        "schema": {"type": "array", "items": {"type": "string"}},
    }
    for name in sorted({*filters.BUILT, *filters.ALIASES, time_range.RANGE})
    if name not in _DECLARED
]


def is_filter(name: str) -> bool:
    """Tell whether a listing takes this search filter as a parameter."""
    return name not in _DECLARED and filters.is_known(name)


def filters_of(params: QueryParams, most: int, clock: Clock) -> Mapping[str, Any]:
    """Return the filters of an address as its statement takes them."""
    given: dict[str, Any] = {}
    for name in dict.fromkeys(filter(is_filter, params.keys())):
        values = [door.admit(one, name) for one in params.getlist(name)]
        if name in _LISTS:
            given[name] = values
        else:
            given[name] = values[0] if len(values) == 1 else {"in": values}
    return filters.parse(given, max_values=most, clock=clock).params
