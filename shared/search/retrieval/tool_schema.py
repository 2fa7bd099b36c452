"""A search module as a tool: its arguments, and its results as text."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from shared.search.query.list_by_time import Sort

MAX_TEXT_CHARS = 1000
# The fields of a result that its reader needs to judge and to cite it.
_SHOWN = (
    *("entry_id", "title", "content", "source", "external_id", "author"),
    *("entry_time", "url", "permalink", "relevance_score", "confidence"),
)


class SearchArguments(BaseModel):
    """The arguments of a search; a module may add its own."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    query: str = Field(description="What is searched for, in plain words.")
    limit: int = Field(10, ge=1, le=100, description="Results returned.")
    sort: Sort = Field("relevance", description="Or by time: newest, oldest.")
    start_date: str | None = Field(None, description="None older: 2024-06-10.")
    end_date: str | None = Field(None, description="None newer.")
    author: str | None = Field(None, description="Written by.")
    source: str | None = Field(None, description="Of this source alone.")
    logbook: str | None = Field(None, description="In this logbook alone.")
    exclude_entry_ids: tuple[str, ...] = Field((), description="Seen already.")


class WordArguments(SearchArguments):
    """The same for a search by words."""

    limit: int = Field(10, ge=1, le=50, description="Results returned.")


class MeaningArguments(SearchArguments):
    """The same for a search by meaning."""

    similarity_threshold: float | None = Field(
        None, ge=0, le=1, description="Cosine below which nothing is a hit."
    )


def as_json(results: Sequence[Mapping[str, Any]]) -> str:
    """Return results as a list of JSON, with texts cut and citation marks escaped."""
    told = [
        {name: one[name] for name in _SHOWN if one.get(name) is not None}
        for one in results
    ]
    for one in told:
        for name in {"title", "content"} & one.keys():
            # An answer cites by `[#`: the text of an entry must not look like that.
            one[name] = str(one[name])[:MAX_TEXT_CHARS].replace("[#", "[\\#")
    return json.dumps(told, ensure_ascii=False)
