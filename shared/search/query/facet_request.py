"""What a search counts beside its hits: values of entries, and times of writing."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import time

from shared import suggest
from shared.errors import InvalidRequestError, ModuleNotEnabledError
from shared.search.query.filters import filters
from shared.times.calendar import Clock

DATE = "date"
# Facets that are columns of an entry and not facts about it.
SAID = (filters.AUTHOR, "logbook", "source")
BUILT = tuple(sorted((*SAID, *filters.FACTS, filters.HAS_ATTACHMENT, DATE)))
_CALLED = (*BUILT, *(one for one, name in filters.ALIASES.items() if name in BUILT))
# How many matches Postgres counts at most.
MAX_MATCHES = 100_000
BUDGET_MS = 1000


@dataclass(frozen=True, slots=True)
class Counting:
    """Which facets are asked for, and by which clock entries are counted."""

    # By the names that the request uses.
    facets: tuple[str, ...]
    zone: str = "UTC"
    day_starts: str = "00:00:00"
    max_matches: int = MAX_MATCHES
    budget_ms: int = BUDGET_MS

    @property
    def names(self) -> dict[str, str]:
        """Return the request's name of each facet by the name that filters use."""
        return {filters.ALIASES.get(one, one): one for one in self.facets}

    @property
    def clock(self) -> Clock:
        """Return how the facility counts its days."""
        return Clock(zone=self.zone, day_starts=time.fromisoformat(self.day_starts))


def check(names: Sequence[str]) -> None:
    """Refuse facets that cannot be counted, and those named twice."""
    for place, name in enumerate(names):
        path = f"facets.{place}"
        known = filters.ALIASES.get(name, name)
        if known in BUILT:
            if known in {filters.ALIASES.get(one, one) for one in names[:place]}:
                raise InvalidRequestError.field(path, "duplicate", "It is named twice.")
        elif known in filters.BUILT:
            message = f"{name} bounds a search; it is no value to count."
            raise InvalidRequestError.field(path, "not_a_facet", message)
        elif known == "thread_id" or known.startswith("metadata."):
            raise ModuleNotEnabledError(
                f"The facet {name[:100]!r} is not built in yet.",
                module_name="facets",
                available=list(BUILT),
            )
        else:
            raise InvalidRequestError(
                f"There is no facet {name[:100]!r}.{suggest.hint(name, _CALLED)}",
                code="unknown_filter",
                details={"allowed": list(BUILT)},
            )
