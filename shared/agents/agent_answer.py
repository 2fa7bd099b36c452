"""What an agent answers: its model's sentences that hold, or the entries' own.

What a tool failed to find out is told by us, whatever the model says of it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from shared.agents import conversation
from shared.agents.bounds import ExitReason
from shared.agents.call_outcomes import FAILED
from shared.agents.turn_rows import TurnRow
from shared.answers.answer_question import PreparedAnswer, prepare_answer
from shared.answers.compose_answer import make_labels
from shared.answers.evidence.evidence import EvidenceEntry, Sentence
from shared.answers.prompt.context import AssembledContext
from shared.answers.prompt.model_prompt import ModelPrompt
from shared.answers.worded.check_sentence import Checker
from shared.answers.worded.model_text import Mark
from shared.answers.worded.worded_answer import word_answer
from shared.search.query.plan import Plan
from shared.search.response.answer import Answer, ModelShare, ModelStatus, Status
from shared.search.response.end_search import FoundPage
from shared.search.retrieval.search_context import SearchContext

# What a model fared like that did not get as far as an answer; else it failed.
_FARED: Mapping[ExitReason, ModelStatus] = {
    "deadline": "unavailable",
    "model_unavailable": "unavailable",
    "cancelled": "off",
}


def hear_nothing(_: Answer) -> None:
    """Drop the answer without a model: nobody waits for it."""


@dataclass(frozen=True, slots=True)
class AskedModel:
    """The name of an agent's model, and who hears the answer without it."""

    name: str | None = None
    # Logbooks that it was told nothing of: by what it was told people have their other
    # names.
    excluded: frozenset[str] = frozenset()
    hear: Callable[[Answer], None] = hear_nothing


@dataclass(slots=True)
class AgentAnswer:
    """Words the answer of one agent's job."""

    _context: SearchContext
    # As the model's turns were taken: by it entries have their numbers.
    _plan: Plan
    _turns: Sequence[TurnRow]
    _reason: ExitReason
    _asked: AskedModel
    # The answer without a model, which comes out the same each time.
    twin_text: str | None = None

    def answer_question(self, found: FoundPage, timeout_ms: int) -> Answer | None:
        """Return the answer over all entries that were seen; None: there were none."""
        prepared = prepare_answer(found, timeout_ms)
        if prepared is None:
            return None
        answer = prepared.answer
        self.twin_text = answer.text
        self._asked.hear(tell_failures(answer, self._turns))
        wanted = found.plan.detail.synthesis
        if wanted is not None and wanted.by == "llm":
            answer = self.word(prepared)
        return tell_failures(answer, self._turns)

    def word(self, prepared: PreparedAnswer) -> Answer:
        """Return the answer in the model's words that hold, or as it was, and why."""
        share = self._share()
        if self._reason != "answered":
            return replace(prepared.answer, model=share)
        checker = Checker(self._context.facility, self._plan.time.zone)
        prepared, prompt = self._given(prepared)
        said = self._last_said()
        worded = word_answer(
            prepared,
            prompt,
            str(said.get("text") or ""),
            checker,
            is_cut=said.get("finish_reason") == "length",
        )
        share = replace(
            share,
            grounding_score=worded.grounding_score,
            removed=worded.removed,
            hallucinated_citations=worded.hallucinated,
        )
        if worded.answer is not None:
            return replace(worded.answer, model=share)
        is_refused = prepared.answer.context.status == "insufficient"
        share = replace(
            share,
            status="off" if is_refused else "failed",
            reason="refused" if is_refused else "unsupported",
        )
        return replace(prepared.answer, model=share)

    def _share(self) -> ModelShare:
        is_done = self._reason == "answered"
        return ModelShare(
            status="ok" if is_done else _FARED.get(self._reason, "failed"),
            model=self._asked.name,
            reason=None if is_done else self._reason,
            tokens_in=sum(one.tokens_in for one in self._turns),
            tokens_out=sum(one.tokens_out for one in self._turns),
            generate_ms=round(sum(one.took_ms or 0.0 for one in self._turns), 3),
        )

    def _last_said(self) -> Mapping[str, Any]:
        said = [one.model_out for one in self._turns if one.model_out]
        return said[-1] if said else {}

    def _given(self, prepared: PreparedAnswer) -> tuple[PreparedAnswer, ModelPrompt]:
        """Return the prompt as the model saw it, a label for all that it may cite.

        That is more than the page has: each call tells of its own best hits.
        """
        seen = conversation.see(
            self._context, self._plan, self._turns, self._asked.excluded
        )
        known = {str(one.row.entry_id): one for one in prepared.entries}
        marks: dict[str, Mark] = {}
        given: dict[EvidenceEntry, list[Sentence]] = {}
        for entry_id, number in seen.numbers.items():
            if entry_id not in seen.rows:
                continue
            entry = known.get(entry_id) or EvidenceEntry(
                seen.rows[entry_id],
                0.0,
                len(known) + number,
                is_hit=False,
                facility=self._context.facility,
            )
            given[entry] = [*entry.candidates()]
            marks[str(number)] = Mark(entry)
            for place, one in enumerate(given[entry], 1):
                marks[f"{number}.{place}"] = Mark(entry, one)
        every = dict.fromkeys((*prepared.entries, *given))
        # What has no place among the results is cited by its id.
        labels = {**make_labels([*every]), **prepared.marks.labels}
        named = tuple(labels[one.row.entry_id] for one in given)
        context = AssembledContext("", named, is_truncated=False)
        prompt = ModelPrompt([], context, marks, seen.pseudonyms, given)
        return replace(prepared, marks=replace(prepared.marks, labels=labels)), prompt


def tell_failures(answer: Answer, turns: Sequence[TurnRow]) -> Answer:
    """Add to the answer which tools failed, and what is unknown because of that."""
    results = (one for turn in turns for one in turn.results)
    failed = [_failure(*one) for one in results if one[1].get("status") in FAILED]
    if not failed:
        return answer
    said = " ".join(dict.fromkeys(failed))
    context = answer.context
    status: Status = context.status
    if status == "grounded":
        status = "clarify"
    told = replace(context, status=status, summary=f"{context.summary} {said}".strip())
    text = f"{answer.text}\n\n{said}" if answer.text else said
    return replace(answer, text=text, context=told)


def _failure(call: Mapping[str, Any], kept: Mapping[str, Any]) -> str:
    asked = call["arguments"].get("query")
    of = f" for {str(asked)[:80]!r}" if asked else ""
    return (
        f"The tool {call['name']} failed{of} ({kept['error_code']}): what it would have"
        " found is unknown."
    )
