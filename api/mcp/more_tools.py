"""The tools of `mcp.tools: all`: other names, and one for each search mode."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from api.mcp import tools
from api.mcp.rest_calls import RestCalls, ToolError
from api.mcp.result_size import mark_as_data
from api.mcp.tool_contract import Arguments, Bounded, Ref, Text, Tool
from shared.errors import InvalidRequestError
from shared.search.query.modes import AGENTIC
from shared.suggest import hint

if TYPE_CHECKING:
    from shared.settings.sections import McpSettings

_OWN_MODES = ("keyword", "semantic", "hybrid")


class ModeSearch(Bounded):
    """The arguments of a search in one mode."""

    query: Text
    limit: Annotated[int, Field(ge=1, le=100)] = 10
    sort: tools.Sort = "relevance"
    start_date: str | None = None
    end_date: str | None = None
    author: str | None = None
    source: str | None = None
    logbook: str | None = None
    exclude_entry_ids: Annotated[list[str], Field(default_factory=list)]


class KeywordSearch(ModeSearch):
    """What the search by words takes."""

    limit: Annotated[int, Field(ge=1, le=50)] = 10


class SemanticSearch(ModeSearch):
    """What the search by meaning takes."""

    similarity_threshold: Annotated[float | None, Field(ge=0, le=1)] = None


class AgenticSearch(ModeSearch):
    """What the search of a question's parts takes."""

    validates: Annotated[bool | None, Field(alias="validate")] = None
    """Compare hits with the whole question."""


class Changes(Bounded):
    """What `changes` takes."""

    after: str | None = None


class Classify(Arguments):
    """What `classify` takes."""

    query: Text


class WhyNot(Bounded):
    """What `why_not` takes."""

    job_id: Ref
    entry: Ref


class EntryCreate(Arguments):
    """What `entry_create` takes: an entry as REST takes it."""

    entry: dict[str, Any]
    """text, title, external_id, ..."""


_TAKES: dict[str, type[ModeSearch]] = {
    "keyword": KeywordSearch,
    "semantic": SemanticSearch,
    AGENTIC: AgenticSearch,
}


async def list_tools(settings: McpSettings, rest: RestCalls) -> dict[str, Tool]:
    """Return the tools that are offered here, by their names."""
    offered = _written_tools(settings)
    if settings.tools == "all":
        offered |= {one.name: one for one in await _tools_of_modes(rest)}
    return offered


async def find_tool(settings: McpSettings, rest: RestCalls, name: str) -> Tool:
    """Return one tool, or refuse the name with the nearest that there is."""
    found = _written_tools(settings).get(name)
    if found is not None:
        return found
    offered = await list_tools(settings, rest)
    if name not in offered:
        message = f"There is no tool {name[:100]!r}."
        message += hint(name, offered) or f" There are {', '.join(offered)}."
        raise InvalidRequestError(message, code="not_found")
    return offered[name]


def _written_tools(settings: McpSettings) -> dict[str, Tool]:
    """Return the tools that depend on no plug-in."""
    offered = [*tools.BASIC_TOOLS]
    if settings.tools == "all":
        offered += _OTHER_NAMES
    if settings.write:
        offered.append(_ENTRY_CREATE)
    return {one.name: one for one in offered}


async def _tools_of_modes(rest: RestCalls) -> list[Tool]:
    """Return a tool for each mode that is switched on, those of plug-ins too."""
    try:
        found = await rest.call("GET", "/v1/capabilities")
    except ToolError:
        # Whoever may not search is offered no other way of searching.
        return [_mode_tool(name, f"Search by {name}.") for name in _OWN_MODES]
    return [
        _mode_tool(one["name"], one["description"])
        for one in found["modes"]
        if one["enabled"] and one["name"] != "auto"
    ]


def _mode_tool(mode: str, description: str) -> Tool:
    takes = _TAKES.get(mode, ModeSearch)
    return Tool(f"{mode}_search", description, takes, partial(_search, mode))


async def _search(mode: str, rest: RestCalls, asked: ModeSearch) -> dict[str, Any]:
    named = ("author", "source", "logbook")
    given = asked.model_dump(
        include=set(ModeSearch.model_fields) - {*named, "max_chars"}
    )
    filters = {one: getattr(asked, one) for one in named if getattr(asked, one)}
    whole = tools.Search.model_validate({**given, "mode": mode, "filters": filters})
    controls = asked.model_dump(
        by_alias=True, exclude_none=True, exclude=set(ModeSearch.model_fields)
    )
    if mode == AGENTIC:
        controls["synthesize"] = "deterministic"
    return await tools.search(rest, whole, **controls)


async def _changes(rest: RestCalls, asked: Changes) -> dict[str, Any]:
    params: dict[str, Any] = {"detail": "brief"}
    params["fields"] = ",".join(tools.LISTED_FIELDS)
    if asked.after:
        params["after"] = asked.after
    while True:
        found = await rest.call("GET", "/v1/changes", params=params)
        told = {**found, "items": mark_as_data(found["items"])}
        kept = tools.check_kept(told, "items", asked.max_chars)
        # `next_after` lies behind all that were asked for: none may be left off.
        if kept == len(found["items"]):
            return told
        params["limit"] = kept


async def _get(path: str, rest: RestCalls, _: Arguments) -> dict[str, Any]:
    return await rest.call("GET", path)


async def _classify(rest: RestCalls, asked: Classify) -> dict[str, Any]:
    return await rest.call("POST", "/v1/classify", json={"query": asked.query})


async def _why_not(rest: RestCalls, asked: WhyNot) -> dict[str, Any]:
    about = tools.Explain(job_id=asked.job_id, entry=asked.entry)
    return await tools.explain(rest, about)


async def _create(rest: RestCalls, asked: EntryCreate) -> dict[str, Any]:
    return await rest.call("POST", "/v1/entries", json=asked.entry)


_BY_NAME = {one.name: one for one in tools.BASIC_TOOLS}
_OTHER_NAMES = (
    replace(_BY_NAME["get_entries"], name="entries_by_ids"),
    replace(_BY_NAME["get_entries"], name="entry_get"),
    replace(_BY_NAME["get_thread"], name="thread_get"),
    replace(_BY_NAME["find_similar"], name="similar_entries"),
    replace(_BY_NAME["filter_values"], name="filter_options"),
    Tool(
        "changes",
        "List what was added, edited or deleted, in order.",
        Changes,
        _changes,
    ),
    Tool(
        "capabilities",
        "List modes, filters and limits.",
        Bounded,
        partial(_get, "/v1/capabilities"),
    ),
    Tool(
        "status",
        "Say how far the system is, and what is wrong.",
        Bounded,
        partial(_get, "/v1/status"),
    ),
    Tool(
        "classify", "Tell whether a question is one for a logbook.", Classify, _classify
    ),
    Tool("why_not", "Say why a search did not find an entry.", WhyNot, _why_not),
)
_ENTRY_CREATE = Tool(
    "entry_create",
    "Add an entry to a source that takes them.",
    EntryCreate,
    _create,
    is_write=True,
)
