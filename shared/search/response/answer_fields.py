"""Fills the fields of a response from an answer, and tells of the model behind it."""

from typing import Any

from shared.search.jobs.outcome import Diagnostic
from shared.search.query.plan import Plan
from shared.search.response.answer import Answer, ModelShare

# A model was to word the answer, but was not asked in time.
_NOT_ASKED = ModelShare(status="unavailable", reason="not_asked")


def answer_fields(plan: Plan, answer: Answer | None) -> dict[str, Any]:
    """Return the fields that an answer fills."""
    if answer is None:
        return {
            "answer": None,
            "answer_source": None,
            "sources": [],
            "citations": [],
            "citation_mode": "none",
            "synthesis_duration_ms": 0.0,
        }
    share = share_of(plan, answer)
    return {
        "answer": answer.text,
        "answer_source": answer.source,
        "sources": [one.label for one in answer.citations],
        "citations": answer.citations,
        "citation_mode": answer.citation_mode,
        "synthesis_duration_ms": round(
            answer.took_ms + (share.assemble_ms + share.generate_ms if share else 0), 3
        ),
        "llm_status": share and share.status,
        "llm_model": share and share.model,
        "grounding_score": share and share.grounding_score,
        "hallucinated_citations": share.hallucinated_citations if share else 0,
        "context_truncated": bool(share and share.context_truncated),
    }


def share_of(plan: Plan, answer: Answer) -> ModelShare | None:
    """Return the model's part in an answer; None: no model was to word it."""
    wanted = plan.detail.synthesis
    if answer.model is None and wanted is not None and wanted.by == "llm":
        return _NOT_ASKED
    return answer.model


def model_notes(plan: Plan, answer: Answer | None) -> list[Diagnostic]:
    """Tell a reader why a model has no part in the answer, or read less than found."""
    share = share_of(plan, answer) if answer else None
    if share is None:
        return []
    notes = []
    if share.status == "quota":
        message = "No answer by a model is left for today or this minute."
        notes.append(_note("generate", "quota_blocked", message, "capacity"))
    elif share.status in {"unavailable", "failed"}:
        message = f"No model words this answer ({share.reason}); it needs none."
        notes.append(_note("generate", "llm_failed", message, "network"))
    if share.context_truncated:
        message = "The model read less than was found: its context is full."
        told = Diagnostic(
            "info", "rag.assemble", "context_truncated", message, "request"
        )
        notes.append(told)
    return notes


def is_of_model(note: Diagnostic) -> bool:
    """Tell whether a diagnostic is about the model that was to word the answer."""
    return note.source in {"rag.assemble", "rag.generate"}


def _note(stage: str, code: str, message: str, category: str) -> Diagnostic:
    return Diagnostic("warning", f"rag.{stage}", code, message, category)
