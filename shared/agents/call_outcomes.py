"""What a call came to, as it is kept with its turn: ids and scores, never text."""

from collections.abc import Mapping, Sequence
from typing import Any

from shared.agents import tools
from shared.errors import InvalidRequestError
from shared.search.jobs.outcome import Outcome

INVALID, REPEATED = "invalid", "repeated"
# What says that a part of what was asked for is unknown.
FAILED = frozenset({"error", "timeout"})


def keep_outcomes(call: Mapping[str, Any], heard: Sequence[Outcome]) -> dict[str, Any]:
    """Return the outcomes of a call as they are stored, with a short summary."""
    last = heard[-1]
    told = last.counts
    status = last.status
    if last.unsearched:
        status = "timeout" if last.status == "timeout" else "error"
    is_thread = call["name"] == tools.GET_THREAD
    limit = tools.MOST_OF_THREAD if is_thread else call["arguments"].get("limit")
    why = next((note.message for note in last.diagnostics), None)
    if last.error_code == InvalidRequestError.code:
        # What only the search can refuse of the arguments is the model's to mend, too.
        return refuse_call(last.error_code, why or last.error_code)
    return {
        "status": status,
        "limit": limit,
        "outcomes": [one.values() for one in heard] if told is None else [],
        "told": told,
        "found": len(last.hits if told is None else told.get("values", ())),
        "took_ms": round(sum(one.took_ms for one in heard), 3),
        "error_code": last.error_code or last.reason,
        "message": why or f"It was not carried out: {last.error_code or last.reason}.",
    }


def refuse_call(code: str, message: str) -> dict[str, Any]:
    """Return the outcome of a call that cannot be carried out as it was written."""
    return {
        "status": INVALID,
        "outcomes": [],
        "told": None,
        "found": 0,
        "took_ms": 0.0,
        "error_code": code,
        "message": message[:500],
    }
