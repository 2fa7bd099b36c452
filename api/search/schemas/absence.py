"""What an answer says that found nothing, as the contract words it."""

from typing import Any, Literal

from pydantic import BaseModel, Field

from api.server.body_model import Body


class Domain(Body):
    """One kind of entries that was searched."""

    domain: str
    entries: int | None
    """Entries that you may see; where nothing was found, those that pass the filters.
    Null: not counted in time."""
    candidates: int = Field(description="Of what was found, so many are of it.")
    ready: bool = Field(description="Whether there is anything of it to be found.")


class SearchedSource(BaseModel):
    """How far back and forth a source is complete; null where nobody knows."""

    source: str
    complete_from: str | None
    complete_to: str | None
    is_whole: bool = Field(description="Nothing of it is older than what is here.")
    lag_seconds: float | None = Field(description="Since its newest entry.")
    gaps: list[dict[str, Any]]


class UnknownTime(BaseModel):
    """A time of which it is not known whether there is anything."""

    # `from` is a word of Python.
    start: str | None = Field(alias="from")
    to: str | None
    source: str
    why: Literal["lag", "history", "gap"]


class NearMiss(BaseModel):
    """An entry that came near, and the gate that kept it out."""

    entry_id: str
    source_uri: str
    source: str
    external_id: str
    title: str
    gate: str
    value: float | None
    limit: float | None


class Coverage(Body):
    """What was searched, over what time, and what of that is unknown."""

    domains: list[Domain]
    sources: list[SearchedSource]
    entries_in_window: int | None
    """Entries that pass the filters; null: not counted in time, or beside hits."""
    counted_seconds_ago: float | None = None
    """Of many, the last count serves again; null: not counted."""
    waiting: int | None
    """Entries that a stage has yet to read: they may match; 1000: as many at least;
    null: not counted in time."""
    unknown: list[UnknownTime]
    nearest: list[NearMiss]


class Relaxation(Body):
    """What answers the question and is kept out: by a time among its words alone.

    Where no time was read out of the words and nothing was found, by all filters.
    """

    count_outside: int = Field(description="1000: as many at least.")
    widen_to: dict[str, str | None] | None
    """`from`, and before `to`: the nearest of these lies within; null: that end stays
    open."""


class EvidenceSentence(Body):
    """A sentence that an answer rests on, and where it stands."""

    entry_id: str
    revision: int
    quote: str = Field(description="Word for word as the entry has it.")
    score: float
    start: int | None
    """In the entry's text as it is read; null: its title."""
    end: int | None


class ContextAnswer(Body):
    """A verdict on an answer, or on an empty page, in words and codes."""

    status: Literal["grounded", "clarify", "insufficient"]
    code: str
    summary: str
    reason: str
    grade: Literal["A", "B", "C", "D"]
    evidence: list[EvidenceSentence]
    citations: list[str]
    questions: list[str] = Field(description="What the entries answer sooner.")
    unsupported: list[str]
    """Words of the question that stand in no entry."""
    slots: dict[str, Any]
    """The slots that are asked for, and whether the answer fills them."""
