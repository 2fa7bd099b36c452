"""An answer in sentences beside the hits: its text, its citations, how sure it is."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, Literal

Status = Literal["grounded", "clarify", "insufficient"]
Grade = Literal["A", "B", "C", "D"]
AnswerSource = Literal["deterministic", "llm"]
CitationMode = Literal["cited", "fallback_all", "none"]
# `off`: there was nothing for a model to word, or no model may read it.
ModelStatus = Literal["ok", "off", "quota", "unavailable", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """An entry that an answer cites, in the revision that was read."""

    label: Annotated[str, "As it stands in the answer, in `[#...]` or `[n]`."]
    entry_id: str
    revision: int
    source_uri: str
    permalink: str
    title: str
    quote: Annotated[str, "The words of the entry that are cited first."]
    entry_time: Annotated[str | None, "When it was written."] = None
    author: str | None = None
    changed_since: Annotated[str | None, "When it was changed after it was read."] = (
        None
    )
    removed_at: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A sentence that an answer rests on, and its place in an entry."""

    entry_id: str
    revision: int
    quote: Annotated[str, "Word for word as the entry has it."]
    score: float
    start: Annotated[int | None, "In the entry's text as it is read; null: its title."]
    end: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextAnswer:
    """What an answer is worth, or why there is none, in words."""

    status: Status
    code: str
    summary: str
    reason: str
    grade: Grade
    evidence: Sequence[Evidence] = ()
    citations: Sequence[str] = ()
    questions: Sequence[str] = ()
    # Words of the question that stand in no entry.
    unsupported: Sequence[str] = ()
    # What the question asks for, by kind of slot, and whether the answer has it.
    slots: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelShare:
    """A model's part in an answer, whether or not its words were taken."""

    status: ModelStatus
    model: str | None = None
    # Why the model has no part in the answer: a reason of its client, or ours.
    reason: str | None = None
    grounding_score: Annotated[float | None, "Of its sentences, how many hold."] = None
    removed: Annotated[int, "How many of its sentences do not."] = 0
    hallucinated_citations: Annotated[int, "Marks of what it was not given."] = 0
    context_truncated: bool = False
    tokens_in: int | None = None
    tokens_out: int | None = None
    first_ms: float | None = None
    # How long the prompt took to put together, and the model to answer.
    assemble_ms: float = 0.0
    generate_ms: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer in sentences, by rules or by a model."""

    text: str | None
    source: AnswerSource | None
    citation_mode: CitationMode
    citations: Sequence[Citation]
    context: ContextAnswer
    took_ms: float = 0.0
    # None: no model was to word it.
    model: ModelShare | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the answer as JSON takes it."""
        return asdict(self)
