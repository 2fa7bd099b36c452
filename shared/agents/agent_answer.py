"""What an agent answers: its model's sentences that hold, or the entries' own.

What a tool failed to find out is told by us, whatever the model says of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from shared.agents import conversation
from shared.agents.bounds import ExitReason
from shared.agents.call_outcomes import FAILED
from shared.agents.turn_rows import TurnRow
from shared.answers.answer_question import PreparedAnswer, prepare_answer
from shared.answers.evidence.evidence import Candidate, EvidenceEntry
from shared.answers.prompt.context import AssembledContext
from shared.answers.prompt.model_prompt import ModelPrompt
from shared.answers.worded.check_sentence import Checker
from shared.answers.worded.model_text import Mark
from shared.answers.worded.worded_answer import word_answer
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
        prepared = prepare_answer(context, plan, conclusion, page, timeout_ms)
        if prepared is None:
            return None
        answer = prepared.answer
        self.twin_text = answer.text
        text = self._last_text()
        if self._reason == "answered" and text:
            answer = self._word(prepared, text) or answer
        return tell_failures(answer, self._turns)

    def _last_text(self) -> str:
        said = [one.model_out for one in self._turns if one.model_out]
        return str(said[-1].get("text") or "") if said else ""

    def _word(self, prepared: PreparedAnswer, text: str) -> Answer | None:
        """Return the model's sentences that hold; None: too few of them do."""
        seen = conversation.see(self._context, self._plan, self._turns)
        known = {str(one.row.entry_id): one for one in prepared.entries}
        marks: dict[str, Mark] = {}
        given: dict[EvidenceEntry, list[Candidate]] = {}
        for entry_id, number in seen.numbers.items():
            entry = known.get(entry_id)
            if entry is None or entry_id not in seen.rows:
                continue
            given[entry] = [*entry.candidates()]
            marks[str(number)] = Mark(entry)
            for place, one in enumerate(given[entry], 1):
                marks[f"{number}.{place}"] = Mark(entry, one)
        labels = tuple(prepared.marks.labels[one.row.entry_id] for one in given)
        context = AssembledContext("", labels, is_truncated=False)
        prompt = ModelPrompt([], context, marks, seen.pseudonyms, given)
        checker = Checker(self._context.facility, self._plan.time.zone)
        return word_answer(prepared, prompt, text, checker).answer


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
