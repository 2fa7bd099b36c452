"""The facility's glossary, as REST tells it."""

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from api.server.body_model import RequestBody, ResponseBody, dump_fields
from shared.glossary.term_usage import Term

State = Literal["proposed", "approved", "rejected"]
# A term, or what may be said for it.
Said = Annotated[str, Field(min_length=1, max_length=100)]
MOST_NAMED = 20


class EvidenceOut(ResponseBody):
    """An entry that you may see, and what it says."""

    expansion: str
    entry_id: UUID
    source: str
    external_id: str
    quote: str


class TermOut(ResponseBody):
    """A term, and what may be said for it."""

    term: str = Field(examples=["BPM"])
    expansions: list[str] = Field(examples=[["beam position monitor"]])
    state: State = Field(description="Only what is approved is searched.")
    entries: int = Field(description="How many entries that you may see say so.")
    evidence: list[EvidenceOut] = Field(description="Some of them, the newest first.")


class TermPage(BaseModel):
    """Terms by their letters; one with expansions in two states stands there twice."""

    items: list[TermOut]
    next_cursor: str | None


class ProposalIn(RequestBody):
    """What may be said for a term."""

    expansions: list[Said] = Field(min_length=1, max_length=MOST_NAMED)


def term_out(one: Term) -> dict[str, Any]:
    """Return a term as it is told."""
    evidence = [
        dump_fields(EvidenceOut, said, expansion=said.form) for said in one.evidence
    ]
    return dump_fields(TermOut, one, expansions=list(one.forms), evidence=evidence)
