"""The eight tools that every agent gets, each a request or two of REST."""

from typing import Annotated, Any, Literal
from urllib.parse import quote

from pydantic import Field

from api.client.listed_filters import read_filters
from api.entries.entry_amount import parse_fields
from api.mcp.rest_calls import RestCalls, ToolError
from api.mcp.result_size import (
    count_kept,
    fence_answer,
    mark_as_data,
    mark_fields_as_data,
    mark_names,
)
from api.mcp.tool_contract import Arguments, Bounded, Ref, Text, Tool
from shared.errors import InvalidRequestError

# What of a hit a model needs to go on; `get_entries` tells the rest.
HIT_FIELDS = (
    *("entry_id", "permalink", "title", "content", "author", "entry_time"),
    *("logbooks", "thread_id", "relevance_score", "confidence", "found_by"),
)
_ENTRY_FIELDS = (
    *("entry_id", "permalink", "title", "text", "authors", "entry_time", "event_time"),
    *("logbooks", "kind", "tags", "thread_id", "reply_to", "revision", "url"),
)
LISTED_FIELDS = ("entry_id", "permalink", "title", "text", "authors", "entry_time")
_BRANCH_FIELDS = ("name", "status", "reason", "error_code", "candidates")
_TOLD_OF_SEARCH = ("degraded", "as_of", "job_id")
_CONTEXT_FIELDS = ("status", "code", "grade", "summary", "questions")
_MOST_REFS = 50
# A cursor opens pages of one size, so that it is told with it.
_BEHIND_SIZE = ":"
_NOT_ALL = (
    "Not all of this page fits: give the same cursor again with a larger max_chars."
)

Sort = Literal["relevance", "newest", "oldest"]


class Search(Bounded):
    """What `search` takes."""

    query: Text
    mode: str = "auto"
    """auto, keyword, semantic, hybrid or a plug-in's"""
    limit: Annotated[int, Field(ge=1, le=100)] = 10
    sort: Sort = "relevance"
    filters: Annotated[dict[str, Any], Field(default_factory=dict)]
    """author, source, logbook, kind, tags, device, metadata.X ..."""
    start_date: str | None = None
    end_date: str | None = None
    detail: Literal["brief", "full"] = "brief"
    exclude_entry_ids: Annotated[list[str], Field(default_factory=list)]


class Ask(Bounded):
    """What `ask` takes."""

    question: Text
    llm: bool = False
    """Let a model word the answer."""


class GetEntries(Bounded):
    """What `get_entries` takes."""

    refs: Annotated[list[Ref], Field(min_length=1, max_length=_MOST_REFS)]
    fields: list[str] | None = None


class OfEntry(Bounded):
    """What tools take that begin with one entry."""

    ref: Ref


class Browse(Bounded):
    """What `browse` takes."""

    filters: Annotated[dict[str, Any], Field(default_factory=dict)]
    cursor: str | None = None


class FilterValues(Arguments):
    """What `filter_values` takes."""

    field: str
    """author, logbook, source, tags, device ..."""
    prefix: str | None = None


class Explain(Bounded):
    """What `explain` takes."""

    job_id: Ref
    entry: str | None = None
    """A ref: why was it not found, or where?"""


async def search(rest: RestCalls, asked: Search, **controls: Any) -> dict[str, Any]:
    """Return hits, and how far all of the search was carried out.

    Controls are what one mode takes beside what all of them take.
    """
    said: dict[str, Any] = {}
    if asked.start_date is not None or asked.end_date is not None:
        # Beside a filter by one end it is refused: neither overrules the other.
        said["time_range"] = [asked.start_date, asked.end_date]
    if asked.exclude_entry_ids:
        said["exclude_entry_ids"] = asked.exclude_entry_ids
    for name in said.keys() & asked.filters.keys():
        message = f"{name} is given twice."
        raise InvalidRequestError.field(f"filters.{name}", "duplicate", message)
    body = asked.model_dump(include={"query", "mode", "limit", "sort", "detail"})
    body |= {"filters": {**asked.filters, **said}, "fields": list(HIT_FIELDS)}
    found = await rest.search({**body, "synthesize": False, **controls})
    answered = {}
    if found.get("answer") is not None:
        answered = {
            "answer": _answer(found),
            "citations": mark_as_data(found["citations"]),
        }
    return {
        "query": asked.query,
        "mode": found["method_used"],
        **answered,
        "results_found": len(found["results"]),
        "results": mark_as_data(found["results"]),
        **({} if found["results"] else _tell_why_none(found)),
        **_told(found),
    }


async def ask(rest: RestCalls, asked: Ask) -> dict[str, Any]:
    """Return the answer and its citations first, then what it was made of."""
    kind = {"mode": "rag"} if asked.llm else {"synthesize": "deterministic"}
    body = {"query": asked.question, "detail": "brief", "fields": list(HIT_FIELDS)}
    found = await rest.search({**body, **kind})
    context = found["context_answer"] or {}
    return {
        "answer": _answer(found),
        "citations": mark_as_data(found["citations"]),
        **mark_fields_as_data({name: context.get(name) for name in _CONTEXT_FIELDS}),
        "answer_source": found["answer_source"],
        "results": mark_as_data(found["results"]),
        **_told(found),
    }


async def get_entries(rest: RestCalls, asked: GetEntries) -> dict[str, Any]:
    """Return entries by whatever they are called; none at all is an error."""
    wanted = parse_fields(",".join(asked.fields or ())) or _ENTRY_FIELDS
    found, missing = [], []
    for ref in asked.refs:
        try:
            found.append(await rest.find_entry(ref))
        except ToolError as exc:
            if exc.code != "not_found" or (not found and ref == asked.refs[-1]):
                raise
            # Asked for alone, it is told why.
            missing.append(ref)
    entries = [_only(wanted, one) for one in found]
    return {"entries": entries, **({"missing": missing} if missing else {})}


async def get_thread(rest: RestCalls, asked: OfEntry) -> dict[str, Any]:
    """Return the thread that an entry belongs to, the oldest first."""
    entry = await rest.find_entry(asked.ref)
    thread = await rest.call("GET", f"/v1/entries/{entry['entry_id']}/thread")
    thread["entries"] = [
        {name: one[name] for name in LISTED_FIELDS if name in one}
        for one in thread["entries"]
    ]
    thread.pop("tree", None)
    return mark_fields_as_data(thread)


async def browse(rest: RestCalls, asked: Browse) -> dict[str, Any]:
    """Return the newest entries that filters leave, a page at a time.

    A page is as long as fits; what continues it opens pages of that length.
    """
    params = read_filters(asked.filters)
    if asked.cursor is not None:
        size, _, params["cursor"] = asked.cursor.rpartition(_BEHIND_SIZE)
        params |= {"limit": size} if size else {}
    while True:
        found = await rest.call("GET", "/v1/entries", params=params)
        cursor = found["next_cursor"]
        if cursor and "limit" in params:
            cursor = f"{params['limit']}{_BEHIND_SIZE}{cursor}"
        told = {
            "entries": [_only(LISTED_FIELDS, one) for one in found["items"]],
            "total": found.get("total"),
            "next_cursor": cursor,
        }
        kept = check_kept(told, "entries", asked.max_chars)
        if kept == len(found["items"]):
            return told
        if asked.cursor is not None:
            return {**told, "next_cursor": None, "diagnostics": [_NOT_ALL]}
        params["limit"] = kept


def check_kept(told: dict[str, Any], name: str, max_chars: int) -> int:
    """Return how many of a page are told; where not even one is, more must be asked."""
    kept = count_kept(told, name, max_chars)
    if told[name] and not kept:
        message = f"Not one of them fits in {max_chars} characters: ask for more."
        raise InvalidRequestError.field("max_chars", "greater_than_equal", message)
    return kept


async def find_similar(rest: RestCalls, asked: OfEntry) -> dict[str, Any]:
    """Return entries like this one, without those of its own thread."""
    entry = await rest.find_entry(asked.ref)
    found = await rest.call("GET", f"/v1/entries/{entry['entry_id']}/similar")
    results = [_only(HIT_FIELDS, one) for one in found["results"]]
    return {"entry_id": entry["entry_id"], "results": results}


async def filter_values(rest: RestCalls, asked: FilterValues) -> dict[str, Any]:
    """Return the commonest values of a field."""
    params = {} if asked.prefix is None else {"prefix": asked.prefix}
    path = f"/v1/filter-options/{quote(asked.field, safe='')}"
    found = await rest.call("GET", path, params=params)
    return {**found, "options": mark_names(found["options"])}


async def explain(rest: RestCalls, asked: Explain) -> dict[str, Any]:
    """Return how a search fared, or what kept one entry out of it."""
    path = f"/v1/search/jobs/{quote(asked.job_id, safe='')}"
    if asked.entry is not None:
        return await rest.call("GET", f"{path}/why-not", params={"entry": asked.entry})
    job = await rest.call("GET", path)
    return {
        "job_id": job["job_id"],
        "state": job["state"],
        "request": job["request"],
        "branches": [_branch(one) for one in job["branches"] or ()],
        "error": job.get("error"),
    }


def _answer(found: dict[str, Any]) -> str | None:
    """Return the answer as data: entries say it, also where a model words it."""
    answer: str | None = found["answer"]
    return None if answer is None else fence_answer(answer)


def _tell_why_none(found: dict[str, Any]) -> dict[str, Any]:
    """Return the sentence that says why there are no hits."""
    context = found["context_answer"] or {}
    return mark_fields_as_data({"summary": context.get("summary")})


def _told(found: dict[str, Any]) -> dict[str, Any]:
    return {
        "branches": [_branch(one) for one in found["branches"]],
        **{name: found[name] for name in _TOLD_OF_SEARCH},
        "diagnostics": [one["message"] for one in found["diagnostics"]],
    }


def _branch(one: dict[str, Any]) -> dict[str, Any]:
    return {name: one[name] for name in _BRANCH_FIELDS if one.get(name) is not None}


def _only(names: Any, values: dict[str, Any]) -> dict[str, Any]:
    return mark_fields_as_data({one: values[one] for one in names if one in values})


BASIC_TOOLS = (
    Tool(
        "search",
        "Find logbook entries by words, meaning or both. Returns hits with ids; read"
        " them whole by get_entries.",
        Search,
        search,
    ),
    Tool(
        "ask",
        "Answer a question in cited sentences of entries, or say what is missing.",
        Ask,
        ask,
    ),
    Tool(
        "get_entries",
        "Read entries by id, permalink, source/external_id or bare number.",
        GetEntries,
        get_entries,
    ),
    Tool("get_thread", "Read an entry with all replies, in time.", OfEntry, get_thread),
    Tool("browse", "List entries, the newest first, by filters.", Browse, browse),
    Tool("find_similar", "Find entries like one entry.", OfEntry, find_similar),
    Tool(
        "filter_values",
        "List the values that a filter can have, with counts.",
        FilterValues,
        filter_values,
    ),
    Tool(
        "explain",
        "Say how a search (job_id) fared, or why it did not find an entry.",
        Explain,
        explain,
    ),
)
