"""Hard filters: parsed once, compiled by each engine, never ignored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from shared.errors import InvalidRequestError, ModuleNotEnabledError

BUILT = ("logbook", "source")
ALIASES = {"source_system": "source"}
# Filters of the contract whose feature is not there yet: refused, not ignored.
_TIMES_LATER = ("date_from", "date_to", "event_from", "event_to", "time_range")
_LATER = frozenset(
    (
        *_TIMES_LATER,
        *("author", "authors", "category", "device", "kind", "language", "level"),
        *("origin", "quantity", "shift", "start_date", "end_date", "system", "tag"),
        *("tags", "thread_id", "has_attachment", "exclude_entry_ids"),
    )
)
_OPERATORS_LATER = frozenset({"not", "gte", "lte", "contains"})


@dataclass(frozen=True, slots=True)
class Filters:
    """What a hit must be; None does not narrow."""

    sources: tuple[str, ...] | None = None
    logbooks: tuple[str, ...] | None = None

    def __bool__(self) -> bool:
        """Whether anything is asked for at all."""
        return self.sources is not None or self.logbooks is not None

    @property
    def params(self) -> dict[str, list[str] | None]:
        """Return what an SQL constant with these filters takes."""
        return {
            "only_sources": None if self.sources is None else list(self.sources),
            "only_logbooks": None if self.logbooks is None else list(self.logbooks),
        }


def parse(given: Mapping[str, object], *, max_values: int) -> Filters:
    """Return the filters, or refuse what is unknown, not built or badly formed."""
    values: dict[str, tuple[str, ...]] = {}
    for key, value in given.items():
        name = ALIASES.get(key, key)
        if name in _LATER or name.startswith("metadata."):
            raise ModuleNotEnabledError(
                f"The filter {key!r} is not built in yet.",
                module_name=key,
                available=list(BUILT),
            )
        if name not in BUILT:
            raise InvalidRequestError(
                f"There is no filter {key!r}.",
                code="unknown_filter",
                details={"allowed": list(BUILT)},
            )
        if name in values:
            path = f"filters.{key}"
            raise InvalidRequestError.field(path, "duplicate", "It is given twice.")
        values[name] = _values(f"filters.{key}", value, max_values)
    return Filters(values.get("source"), values.get("logbook"))


def _values(path: str, value: object, most: int) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, Mapping):
        raise InvalidRequestError.field(
            path, "filter_value", "A filter takes a text, or {in: [...]}."
        )
    later = _OPERATORS_LATER & set(value)
    if later:
        raise ModuleNotEnabledError(
            f"The operator {min(later)!r} of {path} is not built in yet.",
            available=["in"],
        )
    if set(value) != {"in"}:
        raise InvalidRequestError.field(
            path, "filter_value", "A filter takes a text, or {in: [...]}."
        )
    listed = value["in"]
    if not isinstance(listed, list) or not all(isinstance(v, str) for v in listed):
        raise InvalidRequestError.field(
            f"{path}.in", "filter_value", "`in` takes a list of texts."
        )
    if not 1 <= len(listed) <= most:
        raise InvalidRequestError.field(
            f"{path}.in", "length", f"`in` takes 1 to {most} values."
        )
    return tuple(dict.fromkeys(listed))
