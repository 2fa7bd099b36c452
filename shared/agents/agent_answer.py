"""What an agent answers: the sentences of what it has found.

What a tool failed to find out is told by us, whatever the model says of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from shared.agents.bounds import ExitReason
from shared.agents.call_outcomes import FAILED
from shared.agents.turn_rows import TurnRow
from shared.answers.answer_question import answer_question
from shared.search.query.plan import Plan
from shared.search.response.answer import Answer, Status
from shared.search.results.conclude import Conclusion
from shared.search.results.result_page import ResultPage

if TYPE_CHECKING:
    from shared.search.retrieval.search_context import SearchContext


class AgentAnswer:
    """Words the answer of one agent's job."""

    def __init__(
        self,
        context: SearchContext,
        plan: Plan,
        turns: Sequence[TurnRow],
        reason: ExitReason,
    ) -> None:
        self._context = context
        self._plan = plan
        self._turns = turns
        self._reason = reason
        # The answer without a model, which comes out the same each time.
        self.twin_text: str | None = None

    def answer_question(
        self,
        context: SearchContext,
        plan: Plan,
        conclusion: Conclusion,
        page: ResultPage,
        timeout_ms: int,
    ) -> Answer | None:
        """Return the answer over all that was seen; None: nothing was."""
        answer = answer_question(context, plan, conclusion, page, timeout_ms)
        if answer is None:
            return None
        self.twin_text = answer.text
        return tell_failures(answer, self._turns)


def tell_failures(answer: Answer, turns: Sequence[TurnRow]) -> Answer:
    """Return an answer that says which tools failed, and what is unknown for it."""
    failed = [*dict.fromkeys(_list_failures(turns))]
    if not failed:
        return answer
    said = " ".join(failed)
    context = answer.context
    status: Status = context.status
    if status == "grounded":
        status = "clarify"
    told = replace(context, status=status, summary=f"{context.summary} {said}".strip())
    text = f"{answer.text}\n\n{said}" if answer.text else said
    return replace(answer, text=text, context=told)


def _list_failures(turns: Sequence[TurnRow]) -> list[str]:
    return [
        _failure(call, kept)
        for turn in turns
        for number, call in enumerate(turn.calls)
        if (kept := turn.outcomes.get(str(number), {})).get("status") in FAILED
    ]


def _failure(call: Mapping[str, Any], kept: Mapping[str, Any]) -> str:
    asked = call["arguments"].get("query")
    of = f" for {str(asked)[:80]!r}" if asked else ""
    return (
        f"The tool {call['name']} failed{of} ({kept['error_code']}): what it would have"
        " found is unknown."
    )
