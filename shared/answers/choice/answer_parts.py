"""Answer each part of a question: from what was found, counted, or read beside it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from shared.answers import compose_answer
from shared.answers.choice import answer_status, sentence_meaning
from shared.answers.choice.count_entries import count_entries
from shared.answers.choice.part_answer import (
    Meanings,
    PartAnswer,
    Unwritten,
    answer_part,
)
from shared.answers.evidence.evidence import EvidenceEntry
from shared.answers.evidence.load_evidence import add_newest
from shared.answers.evidence.newest_matches import read_translated_matches
from shared.answers.evidence.unwritten_words import find_unwritten_words
from shared.answers.question.question import Question
from shared.postgres.statement_deadline import Deadline
from shared.search.query.plan import Plan
from shared.search.retrieval.search_context import SearchContext

# Whoever types a few words asks nothing whose meaning could be compared.
BY_WORDS = frozenset({"lookup", "exact", "recent"})


@dataclass(slots=True)
class PartsAnswerer:
    """Answers the parts of one question from its evidence."""

    context: SearchContext
    plan: Plan
    entries: Sequence[EvidenceEntry]
    # What tells how often something happened, by the part that asks it.
    happened: Mapping[Question, Sequence[EvidenceEntry]]
    # By what entries are cited; those that are read for a part come to them.
    labels: dict[UUID, str]
    left: Deadline
    compare: Meanings
    characters: int
    is_outside: bool

    def answer(self, one: Question) -> PartAnswer:
        """Return the answer to a part, or why it has none."""
        part = self._choose(one, self.entries, self._find_unwritten)
        if part.judgement.grade != "A":
            counted = count_entries(
                one, self.happened.get(one, ()), self.plan.time.zone
            )
            if counted is not None:
                return counted
        if self.plan.intent in BY_WORDS or self.left.left_ms <= 0:
            return part
        translated = sentence_meaning.translate_evidence(
            self.context, part, self.entries
        )
        # No word but those is sought in what has more of them.
        unwritten = partial(_keep_unwritten, part.unwritten)
        if translated is not None:
            part = _prefer(part, self._choose(one, translated, unwritten))
        # Where they have its own words, entries are found by a search.
        is_foreign = any(map(one.list_translated, part.judgement.unsupported))
        if part.judgement.status == "grounded" or part.unnamed or not is_foreign:
            return part
        return self._answer_translated(one, unwritten) or part

    def _answer_translated(
        self, one: Question, unwritten: Unwritten
    ) -> PartAnswer | None:
        """Answer from entries with the words of other languages for a question.

        A search seldom finds them.
        """
        rows = read_translated_matches(
            self.context.pool, self.plan, one, self.left.left_ms
        )
        more = add_newest(self.entries, rows, self.context.facility)
        if len(more) == len(self.entries):
            return None
        part = self._choose(one, more, unwritten)
        # Where no slot is to be filled, the words alone tell an answer.
        is_open = one.kind in {"what", "which"} and part.judgement.unsupported
        if part.judgement.status != "grounded" or is_open:
            return None
        self.labels.update(compose_answer.make_labels(more) | self.labels)
        return part

    def _choose(
        self, one: Question, entries: Sequence[EvidenceEntry], unwritten: Unwritten
    ) -> PartAnswer:
        return answer_part(
            one,
            entries,
            self.compare,
            unwritten,
            self.characters,
            is_outside=self.is_outside,
            zone=self.plan.time.zone,
        )

    def _find_unwritten(self, one: Question, words: Sequence[str]) -> tuple[str, ...]:
        return find_unwritten_words(
            self.context.pool, one, words, self.plan.scope, self.left.left_ms
        )


def _keep_unwritten(
    unwritten: Sequence[str], _: Question, words: Sequence[str]
) -> tuple[str, ...]:
    """Return those of some words that are known to stand in no entry."""
    return tuple(one for one in words if one in unwritten)


def _prefer(part: PartAnswer, translated: PartAnswer) -> PartAnswer:
    """Return an answer that says all in words that surely mean it, else the other."""
    is_told = part.judgement.status == "grounded" and any(
        one.coverage >= answer_status.SHIPPED.whole_coverage for one in part.chosen
    )
    is_answered = translated.judgement.status == "grounded"
    return part if is_told and not is_answered else translated
