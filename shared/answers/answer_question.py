"""The answer to a search without a model: sentences of what was found, or a refusal."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from uuid import UUID

from shared.answers import compose_answer
from shared.answers.choice import sentence_meaning
from shared.answers.choice.answer_parts import BY_WORDS, PartsAnswerer
from shared.answers.choice.choose_sentences import MOST_CHARACTERS
from shared.answers.choice.count_entries import MOST_COUNTED
from shared.answers.choice.part_answer import Meanings, PartAnswer, answer_part
from shared.answers.choice.sentence_score import ScoredSentence
from shared.answers.compose_answer import Marks, Unsaid
from shared.answers.evidence.evidence import EvidenceEntry
from shared.answers.evidence.load_evidence import add_newest, load_evidence
from shared.answers.evidence.newest_matches import read_newest_matches
from shared.answers.question import question_scope
from shared.answers.question.answer_kinds import find_kind
from shared.answers.question.question import (
    Question,
    list_parts,
    read_part,
    read_question,
)
from shared.postgres.statement_deadline import Deadline
from shared.search.absence import absence
from shared.search.absence.coverage import Coverage
from shared.search.query.plan import Plan
from shared.search.response.answer import Answer, ContextAnswer, Grade, Status
from shared.search.response.end_search import FoundPage
from shared.search.results.superseded import Other
from shared.search.retrieval.search_context import SearchContext
from shared.text.facility.facility import Facility

# Shown beside a refusal.
_NEAREST = 3
# So many threads are told of to who asks what happened in a time.
_MOST_LISTED = 5
# So many entries of a count are cited.
_MOST_CITED = 20
# Questions to ask instead, until two of them have an answer.
_MOST_TRIED = 6
_WORST_FIRST: tuple[Status, ...] = ("insufficient", "clarify", "grounded")


@dataclass(frozen=True, slots=True)
class PreparedAnswer:
    """An answer without a model, and what one may word it from."""

    answer: Answer
    plan: Plan
    entries: Sequence[EvidenceEntry]
    marks: Marks
    # Chosen and next best, those of each part; none where the question is refused.
    sentences: Sequence[ScoredSentence] = ()
    # The questions whose kind of answer the chosen sentences are of.
    filled: Sequence[Question] = ()
    # What stands whoever words it: which slots are not filled and what was searched for
    # them; of a full answer what was not searched; and by what the values of entries
    # were replaced.
    unfilled: str = ""
    unsearched: str = ""
    values: Mapping[UUID, Sequence[Other]] = field(default_factory=dict)


@dataclass(slots=True)
class Preparing:
    """Answers as `answer_question` does, and keeps what a model may word it from."""

    prepared: PreparedAnswer | None = None

    def __call__(self, found: FoundPage, timeout_ms: int) -> Answer | None:
        """Answer from a page of hits; None: none is asked for, or there are no hits."""
        self.prepared = prepare_answer(found, timeout_ms)
        return self.prepared.answer if self.prepared else None


def answer_question(
    found: FoundPage, timeout_ms: int, meanings: Meanings | None = None
) -> Answer | None:
    """Answer from a page of hits; None: none is asked for, or there are no hits.

    Questions are compared by the model that was searched, unless by other `meanings`.
    """
    prepared = prepare_answer(found, timeout_ms, meanings)
    return prepared.answer if prepared else None


def prepare_answer(
    found: FoundPage, timeout_ms: int, meanings: Meanings | None = None
) -> PreparedAnswer | None:
    """Answer from a page, and keep what the answer was made of.

    What was searched and what is unknown is said of a refusal where it was measured.
    """
    context, plan, page, covered = found.context, found.plan, found.page, found.covered
    asked = plan.detail.synthesis
    if asked is None or not page or not (plan.asks_for_words or _asks_of_time(plan)):
        return None
    began = time.perf_counter()
    left = Deadline.after(timeout_ms)
    facility = context.facility
    outside = question_scope.find_outside(plan.query)
    is_asked = plan.asks_for_words and outside is None
    read = _read_parts(plan, facility) if is_asked else []
    entries = load_evidence(context.pool, plan, facility, page, left.left_ms)
    entries, happened = _read_more(context, plan, read, entries, left)
    others = [one for among in happened.values() for one in among]
    cited = {one.row.entry_id: one for one in (*others, *entries)}
    labels = compose_answer.make_labels([*cited.values()], asked.style)
    marks = Marks(labels, asked.style, asked.marked)
    values = {one.row.entry_id: one.values.superseded_by for one in page}
    unsearched = absence.say_unsearched(found.conclusion.branches)
    writer = _Writer(plan, entries, marks, values, unsearched, covered, facility)
    if outside is not None:
        refused = writer.refuse(
            compose_answer.say_outside(outside), "not_a_logbook_question", began
        )
        return PreparedAnswer(refused, plan, entries, marks)
    if not plan.asks_for_words:
        return PreparedAnswer(writer.list_newest(began), plan, entries, marks)
    compare: Meanings = sentence_meaning.no_meanings
    if plan.intent not in BY_WORDS:
        compare = meanings or sentence_meaning.make_meanings(
            context, plan, found.conclusion
        )

    sources = {one.row.source for one in entries}
    answerer = PartsAnswerer(
        *(context, plan, entries, happened, labels, left, compare),
        characters=MOST_CHARACTERS // len(read),
        is_outside=covered is not None
        and covered.ends_before_any_source(plan.filters.until, sources),
    )
    answered = [answerer.answer(one) for one in read]
    sentences = [
        one for part in answered for one in dict.fromkeys((*part.chosen, *part.best))
    ]
    refusals = writer.list_refusals(answered)
    written = writer.write(answered, refusals, began)
    unfilled = " ".join(filter(None, refusals))
    return PreparedAnswer(
        written,
        plan,
        entries,
        marks,
        sentences,
        [part.question for part in answered if part.is_of_kind],
        unfilled,
        "" if unfilled else unsearched,
        values,
    )


def _read_more(
    context: SearchContext,
    plan: Plan,
    read: Sequence[Question],
    entries: list[EvidenceEntry],
    left: Deadline,
) -> tuple[list[EvidenceEntry], dict[Question, list[EvidenceEntry]]]:
    """Return evidence with what is newest of a state, and what tells how often.

    Where hits are cited by their numbers, these alone. A search brings ten entries, and
    of what happens daily seldom the last.
    """
    asked = plan.detail.synthesis
    happened: dict[Question, list[EvidenceEntry]] = {}
    if asked is not None and asked.style == "numeric":
        # A number is a place among the results.
        most = min(asked.max_sources, plan.limit)
        entries = [one for one in entries if one.is_hit and one.rank <= most]
        return entries, happened
    for one in read:
        if one.is_of_last or one.is_of_state:
            rows = read_newest_matches(context.pool, plan, one, left.left_ms)
            entries = add_newest(entries, rows, context.facility)
        if one.is_of_times:
            rows = read_newest_matches(
                context.pool, plan, one, left.left_ms, MOST_COUNTED
            )
            happened[one] = add_newest((), rows, context.facility)
    return entries, happened


def _read_parts(plan: Plan, facility: Facility) -> list[Question]:
    parts = list_parts(plan, facility)
    if len(parts) == 1:
        return [read_question(plan, facility)]
    return [read_part(one, one, facility) for one in parts]


@dataclass(slots=True)
class _Writer:
    """Writes the answer of one search from the chosen sentences."""

    _plan: Plan
    _entries: Sequence[EvidenceEntry]
    _marks: Marks
    _values: Mapping[UUID, Sequence[Other]]
    _unsearched: str
    _covered: Coverage | None
    _facility: Facility

    def write(
        self, parts: Sequence[PartAnswer], refusals: Sequence[str], began: float
    ) -> Answer:
        """Return the answer to all parts, a paragraph each.

        `refusals`: why a part is refused; empty for one that is answered.
        """
        chosen = [one for part in parts for one in part.chosen]
        worst = min(parts, key=lambda part: _WORST_FIRST.index(part.judgement.status))
        # Beside a refusal with nothing chosen stands what came nearest.
        shown = [
            part.chosen or (self._nearest() if said else [])
            for part, said in zip(parts, refusals, strict=True)
        ]
        paragraphs = map(self._paragraph, parts, shown, refusals)
        is_blended = len(parts) > 1 and worst.judgement.status == "grounded"
        replaced = any(compose_answer.is_replaced(one, self._values) for one in chosen)
        grade: Grade = max(part.judgement.grade for part in parts)
        if grade == "A" and (replaced or self._unsearched):
            grade = "B"
        offered = dict.fromkeys(
            one
            for part in parts
            for one in compose_answer.list_questions(
                part.question, part.judgement, part.unnamed, self._entries
            )
        )
        # Each that is tried costs as much as an answer.
        listed = filter(self._is_answered, islice(offered, _MOST_TRIED))
        told = (
            *(part.counted for part in parts),
            *(" ".join(one.candidate.text.split()) for one in chosen),
            self._unsearched,
        )
        # Each entry of a count is one click away.
        counted = [
            one for part in parts if part.counted for one in part.best[:_MOST_CITED]
        ]
        return self._answer(
            "\n\n".join(paragraphs),
            [*(one for part in shown for one in part), *counted],
            ContextAnswer(
                status=worst.judgement.status,
                code="blended" if is_blended else worst.judgement.code,
                summary=" ".join(filter(None, refusals))
                or " ".join(filter(None, told)),
                reason=self._plan.reasoning,
                grade=grade,
                evidence=compose_answer.list_evidence(chosen),
                questions=list(islice(listed, compose_answer.MOST_QUESTIONS)),
                unsupported=[w for part in parts for w in part.judgement.unsupported],
                slots=_slots(parts),
            ),
            began,
        )

    def refuse(self, said: str, code: str, began: float) -> Answer:
        """Return why there is no answer, and what came nearest all the same."""
        context = ContextAnswer(
            status="insufficient",
            code=code,
            summary=said,
            reason=self._plan.reasoning,
            grade="D",
        )
        nearest = self._nearest()
        return self._answer(self._beside(said, nearest), nearest, context, began)

    def list_newest(self, began: float) -> Answer:
        """Return how the newest threads began in a time: what happened in it."""
        is_beside = self._plan.ordering.is_beside_day
        hits = [one for one in self._entries if one.is_hit]
        # What was written on the day after tells of the day if nothing else does.
        inside = [one for one in hits if not is_beside(one.row.entry_time)] or hits
        # The newest stand first.
        firsts = {one.thread: one for one in inside}
        told = self._list_beginnings(list(firsts.values())[:_MOST_LISTED])
        context = ContextAnswer(
            status="grounded",
            code="blended" if len(told) > 1 else "single_lead",
            summary=" ".join(" ".join(one.candidate.text.split()) for one in told),
            reason=self._plan.reasoning,
            grade="B" if self._unsearched else "A",
            evidence=compose_answer.list_evidence(told),
        )
        return self._answer(self._sentences(told), told, context, began)

    def _is_answered(self, text: str) -> bool:
        """Tell whether the entries at hand answer a question, by their words alone."""
        question = read_part(text, text, self._facility)
        part = answer_part(
            question,
            self._entries,
            sentence_meaning.no_likeness,
            _never_written,
            MOST_CHARACTERS,
        )
        return part.judgement.status == "grounded"

    def list_refusals(self, parts: Sequence[PartAnswer]) -> list[str]:
        """Return of each part why it is refused; empty for one that is answered.

        What was searched is the same for all of them, and is said of the first.
        """
        said = [self._say_unfilled(part) for part in parts]
        first = next((place for place, one in enumerate(said) if one), None)
        if first is not None:
            said[first] = " ".join(filter(None, (said[first], *self._say_searched())))
        return said

    def _say_unfilled(self, part: PartAnswer) -> str:
        """Return which slot of a part is not filled; nothing where all are."""
        if part.judgement.status == "grounded":
            return ""
        if part.judgement.code == "outside_coverage" and self._covered is not None:
            return absence.say_outside_coverage(self._plan, self._covered)
        return compose_answer.say_refusal(
            part.question, part.judgement, part.unnamed, self._entries
        )

    def _say_searched(self) -> tuple[str, ...]:
        if self._covered is None:
            return (self._unsearched,)
        return (
            absence.say_searched(self._plan),
            self._unsearched,
            absence.say_unknown(self._plan, self._covered),
        )

    def _paragraph(
        self, part: PartAnswer, shown: Sequence[ScoredSentence], said: str
    ) -> str:
        if part.counted:
            entries = [one.candidate.entry for one in part.best[:_MOST_CITED]]
            marks = " ".join(map(self._marks.of, entries))
            counted = compose_answer.close_sentence(part.counted, marks)
            return f"{counted} The last: {self._sentences(shown, 'when')}"
        if not said:
            question = part.question
            unsaid: Unsaid | None = "state" if question.is_of_state else None
            return self._sentences(shown, "who" if question.is_of_author else unsaid)
        # Where nobody wrote when it was, or who it was, that of who wrote of it is the
        # next best.
        return self._beside(said, shown, part.question.kind)

    def _beside(
        self,
        said: str,
        nearest: Sequence[ScoredSentence],
        unsaid: Unsaid | None = None,
    ) -> str:
        if not nearest:
            return said
        return f"{said} Nearest: {self._sentences(nearest, unsaid)}"

    def _sentences(
        self, chosen: Sequence[ScoredSentence], unsaid: Unsaid | None = None
    ) -> str:
        zone = self._plan.time.zone
        return compose_answer.write_sentences(
            chosen, self._marks, self._values, zone, unsaid=unsaid
        )

    def _nearest(self) -> list[ScoredSentence]:
        return self._list_beginnings(self._entries[:_NEAREST])

    def _list_beginnings(
        self, entries: Sequence[EvidenceEntry]
    ) -> list[ScoredSentence]:
        """Return the titles of entries, or how their texts begin."""
        firsts = (next(iter(one.candidates()), None) for one in entries)
        return [
            ScoredSentence(one, 0.0, 0.0, is_of_kind=False)
            for one in firsts
            if one is not None
        ]

    def _answer(
        self,
        text: str,
        cited: Sequence[ScoredSentence],
        context: ContextAnswer,
        began: float,
    ) -> Answer:
        citations = compose_answer.list_citations(
            cited, self._marks, self._values, self._plan.scope.tenant
        )
        labels = [one.label for one in citations]
        return Answer(
            text=text,
            source="deterministic",
            citation_mode="cited" if citations else "none",
            citations=citations if self._marks.is_shown else [],
            context=replace(context, citations=labels[: compose_answer.MOST_EVIDENCE]),
            took_ms=round((time.perf_counter() - began) * 1000, 3),
        )


def _asks_of_time(plan: Plan) -> bool:
    """Tell whether a question has nothing but a time; `who was there` is another."""
    return plan.time.is_inferred and find_kind(plan.query) in {"what", "which"}


def _never_written(_: Question, words: Sequence[str]) -> tuple[str, ...]:
    """Take each word that the entries at hand lack for one that no entry has."""
    return tuple(words)


def _slots(parts: Sequence[PartAnswer]) -> dict[str, object]:
    """Return each slot of the question, and whether the answer fills it."""
    unnamed = {one.written for part in parts for one in part.unnamed}
    names = [one.written for part in parts for one in part.question.called]
    return {
        "kind": [
            {"asked": part.question.kind, "filled": part.is_of_kind} for part in parts
        ],
        "names": [{"asked": one, "filled": one not in unnamed} for one in names],
    }
