"""The address of a search page: every state of it is a link."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from starlette.datastructures import QueryParams

from api.search.schemas.search import SearchRequest
from api.web.page_visit import VIA
from shared.errors import InvalidRequestError
from shared.search.query.filters import filters, time_range
from shared.search.query.modes import ALIASES as MODE_ALIASES
from shared.search.query.modes import AUTO, RAG
from shared.search.retrieval.search_parameters import (
    ParameterDescriptor,
    Value,
    check_parameters,
)
from shared.text import door

PAGE_HITS = 10
# The most pages of one ranked list; a list by time goes on behind them.
MOST_PAGES = 10
_PAGES = {str(number): number for number in range(1, MOST_PAGES + 1)}
# What a page shows beside a question is counted by these, each value a link.
FACETS = (
    *("logbook", "kind", "device", "shift", "author", "tag", "system", "source"),
    "has_attachment",
)
FROM, TO = "from", "to"
_TIMES = {FROM: time_range.FROM, TO: time_range.TO}
_OWN = frozenset(
    {"q", "mode", "sort", "page", "rows", "open", "collapse", FROM, TO, VIA}
)
# Parameters that are fields of a request; any other is one among its `parameters`.
_FIELDS = ("deadline_ms", "similarity_threshold")
_SORTS = ("relevance", "newest", "oldest")


# A parameter of the mode, as `/v1/capabilities` describes it.
PARAMETER = "p."


def is_filter(name: str) -> bool:
    """Tell whether a parameter of the page is a filter of searches."""
    return name not in _OWN and filters.is_known(name)


def is_taken(name: str) -> bool:
    """Tell whether the search page knows a parameter."""
    is_own = name in _OWN or name.startswith(PARAMETER)
    return is_own or filters.is_known(name)


@dataclass(frozen=True, slots=True)
class SearchForm:
    """The question, its filters and the display, as in the address."""

    q: str = ""
    mode: str = AUTO
    sort: str = "relevance"
    since: str = ""
    until: str = ""
    filters: Mapping[str, Sequence[str]] = field(default_factory=dict)
    page: int = 1
    rows: str = "normal"
    collapse: str = ""
    # The entry that stands beside the list, by its permalink without `/e/`.
    open: str = ""
    # What the mode is given beside the question, by the name of each.
    parameters: Mapping[str, Value] = field(default_factory=dict)

    @classmethod
    def read(cls, params: QueryParams, modes: Iterable[Mapping[str, Any]] = ()) -> Self:
        """Read an address, or refuse its wrong parts.

        `modes`: those that can be asked in here, each with its parameters.
        """
        given = {
            name: [door.admit(one, name) for one in _each_once(params.getlist(name))]
            for name in dict.fromkeys(filter(is_filter, params.keys()))
        }
        page = _PAGES.get(params.get("page", "1"))
        if page is None:
            message = f"page: a list has pages 1 to {MOST_PAGES}."
            raise InvalidRequestError.field("page", "value", message)
        sort = params.get("sort") or _SORTS[0]
        if sort not in _SORTS:
            message = f"sort: one of {', '.join(_SORTS)}."
            raise InvalidRequestError.field("sort", "value", message)
        mode = params.get("mode") or AUTO
        return cls(
            q=params.get("q", ""),
            mode=mode,
            sort=sort,
            since=params.get(FROM, ""),
            until=params.get(TO, ""),
            filters={name: values for name, values in given.items() if values},
            page=page,
            rows="condensed" if params.get("rows") == "condensed" else "normal",
            collapse="thread" if params.get("collapse") == "thread" else "",
            open=params.get("open", ""),
            parameters=_read_parameters(params, mode, modes),
        )

    @classmethod
    def of_request(cls, request: Mapping[str, Any]) -> Self | None:
        """Return the page of a search that was asked for; None: no page asks for it."""
        asked: dict[str, Any] = request.get("filters") or {}
        taken = {name: _values_of(value) for name, value in asked.items()}
        since, until = (taken.pop(_TIMES[name], []) for name in (FROM, TO))
        made = cls(
            q=request["query"],
            mode=request.get("mode") or AUTO,
            sort=request.get("sort") or _SORTS[0],
            since="".join(since),
            until="".join(until),
            filters=taken,
            collapse=request.get("collapse") or "",
            parameters={
                **(request.get("parameters") or {}),
                **{
                    name: request[name]
                    for name in _FIELDS
                    if request.get(name) is not None
                },
            },
        )
        # Some questions of programs cannot be written in an address of the page.
        is_whole = made._filters() == asked and all(map(is_filter, taken))
        return made if is_whole and made.sort in _SORTS else None

    @property
    def is_blank(self) -> bool:
        """Tell whether nothing is asked for."""
        return not (self.q.strip() or self.filters or self.since or self.until)

    @property
    def query(self) -> dict[str, Any]:
        """Return the address again, without what goes without saying."""
        return {
            "q": self.q,
            "mode": None if self.mode == AUTO else self.mode,
            "sort": None if self.sort == _SORTS[0] else self.sort,
            FROM: self.since,
            TO: self.until,
            **{name: list(values) for name, values in self.filters.items()},
            "page": None if self.page == 1 else self.page,
            "rows": None if self.rows == "normal" else self.rows,
            "collapse": self.collapse,
            "open": self.open,
            **{
                PARAMETER + name: str(value).lower()
                if isinstance(value, bool)
                else value
                for name, value in self.parameters.items()
            },
        }

    def changed(self, **changes: Any) -> dict[str, Any]:
        """Return the address of the same search but for this, from its first page.

        Each mode has parameters of its own.
        """
        kept = {} if "mode" in changes else self.parameters
        start = {"page": 1, "open": "", "parameters": kept}
        return replace(self, **{**start, **changes}).query

    @property
    def saved(self) -> dict[str, Any]:
        """Return the part of the address that a saved search takes."""
        return {"q": self.q, **{name: list(of) for name, of in self.filters.items()}}

    def with_filter(self, name: str, value: str) -> dict[str, Any]:
        """Return the address with one more value of a filter."""
        values = _each_once([*self.filters.get(name, ()), value])
        return self.changed(filters={**self.filters, name: values})

    def without_filter(self, name: str, value: str) -> dict[str, Any]:
        """Return the address with one value of a filter less."""
        values = [one for one in self.filters[name] if one != value]
        others = {key: one for key, one in self.filters.items() if key != name}
        return self.changed(filters={**others, **({name: values} if values else {})})

    def request(self, *, has_answers: bool = False) -> SearchRequest:
        """Return the search that the page is of: each page a stretch of one list.

        `has_answers`: whether there are any here. A page waits for no model: its hits
        stand at once, and sentences of entries.
        """
        fields: dict[str, Any] = {"query": self.q, "mode": self.mode}
        fields |= {"limit": PAGE_HITS * self.page, "filters": self._filters()}
        if self.sort != _SORTS[0]:
            fields["sort"] = self.sort
        if self.collapse:
            fields["collapse"] = self.collapse
        others: dict[str, Value] = {}
        for name, value in self.parameters.items():
            (fields if name in _FIELDS else others)[name] = value
        if others:
            fields["parameters"] = others
        if self.mode in {AUTO, RAG} and has_answers:
            fields["synthesize"] = "deterministic"
        return SearchRequest.model_validate(fields)

    def counts_request(self) -> SearchRequest:
        """Return the search that counts matches by words, and shows no hits."""
        fields = {"query": self.q, "mode": "keyword", "filters": self._filters()}
        counted = {"limit": 1, "facets": ["date", *FACETS], "synthesize": False}
        return SearchRequest.model_validate({**fields, **counted})

    @property
    def times(self) -> dict[str, str]:
        """Return the ends of the time that the address gives, as filters have them."""
        times = {FROM: self.since, TO: self.until}
        return {_TIMES[name]: one for name, one in times.items() if one}

    def _filters(self) -> dict[str, Any]:
        lists = {filters.EXCLUDED}
        return {
            **{
                name: list(values)
                if name in lists
                else values[0]
                if len(values) == 1
                else {"in": list(values)}
                for name, values in self.filters.items()
            },
            **self.times,
        }


def _read_parameters(
    params: QueryParams, mode: str, modes: Iterable[Mapping[str, Any]]
) -> dict[str, Value]:
    """Return the mode's own parameters; a form may hold those of the one before it."""
    name = MODE_ALIASES.get(mode, mode)
    told = next((one["parameters"] for one in modes if one["name"] == name), ())
    described = [ParameterDescriptor(**one) for one in told]
    given = {
        one.name: _value_of(door.admit(text, one.name), one.type)
        for one in described
        if (text := params.get(PARAMETER + one.name))
    }
    check_parameters(given, described)
    return given


def _value_of(text: str, kind: str) -> Value:
    """Return a value as its parameter takes it; whatever is none is refused later."""
    if kind == "bool":
        return {"true": True, "false": False}.get(text, text)
    try:
        return int(text) if kind == "int" else float(text) if kind == "float" else text
    except ValueError:
        return text


def _each_once(values: Iterable[str]) -> list[str]:
    return [one for one in dict.fromkeys(values) if one]


def _values_of(value: Any) -> list[str]:
    """Return the values of a filter, as far as an address has them."""
    if isinstance(value, dict):
        value = value.get("in")
    given = value if isinstance(value, list) else [value]
    return [one for one in given if isinstance(one, str)]
