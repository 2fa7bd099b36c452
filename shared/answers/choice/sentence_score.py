"""How well a sentence answers: by the words of the question, its kind and place."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from shared.answers.choice import list_unsaid
from shared.answers.evidence.evidence import EvidenceEntry, Sentence, order_in_threads
from shared.answers.question import deeds, numbered_things, sentence_kinds
from shared.answers.question.numbered_things import NumberedThing
from shared.answers.question.question import Question, QuestionName
from shared.text.facts import make_comparable


@dataclass(frozen=True, slots=True)
class SentenceWeights:
    """How much each sign of an answer counts in its score."""

    coverage: float = 1.6
    entry: float = 1.0
    kind: float = 0.3
    # These count for why-questions alone. A later entry tells the cause, a sentence
    # may name it as one, and a title that only repeats the question has none.
    reply: float = 0.45
    title: float = 0.3
    cause: float = 0.15
    echo: float = 1.0
    # This one counts for all other kinds of question.
    cosine: float = 1.5
    # How something is now, the last who wrote of it tells.
    latest: float = 0.45
    # How something is done, a procedure tells.
    procedure: float = 0.45


# Fitted on the sample logbook and on a year of event notifications together, not as the
# prototypes had them (`make bench-answers` prints what each half makes of the other's).
SHIPPED = SentenceWeights()
# A hit is of what is asked about if its thread has so many of the question's words, and
# its score is so much of the best one's.
_ABOUT_COVERAGE, _ABOUT_SCORE = 0.6, 0.7
# A thread with less of the question's words than this share of the most is of something
# else. What is compared by meaning, too, need not have so many.
_LEAST_SHARE, _LEAST_SHARE_BY_WORDS = 0.5, 0.7
# What has so many of the words says all of it; what says the deed needs fewer.
_WHOLE_COVERAGE, _DEED_COVERAGE = 0.9, 0.7
# A door handle is not the one of the cab.
_STATE_COVERAGE = 0.8
# A sentence in another language has none of the words, and is as near as a copy.
_SAME_MEANING = 0.65
# A title with so many words that the question has not tells something of its own.
LEAST_ADDED = 2


@dataclass(frozen=True, slots=True)
class ScoredSentence:
    """A candidate with its score and the parts that the score is made of."""

    candidate: Sentence
    score: float
    # The share of the question's words, by their rarity, in it and its title.
    coverage: float
    is_of_kind: bool
    cosine: float | None = None
    # It was done when its entry was written, for all that is known.
    is_dated: bool = False
    # Who wrote it did it.
    is_signed: bool = False
    # What is reckoned from it and another one.
    reckoned: str = ""
    # What was done when, where or by whom is told in its thread.
    is_of_deed: bool = True
    # It tells its kind in so many words: of a cause that it is one, of a moment what
    # was done then.
    is_sure: bool = True

    @property
    def fills_slot(self) -> bool:
        """Whether the sentence is of the kind, and of what is asked for."""
        return self.fills_slot_of(0.0)

    def fills_slot_of(self, coverage: float) -> bool:
        """Tell whether it is of the kind, with more of the words or the meaning."""
        is_meant = self.cosine is not None and self.cosine >= _SAME_MEANING
        is_filled = self.is_of_kind and self.is_of_deed
        return is_filled and (self.coverage > coverage or is_meant)


class SentenceScores:
    """Scores the sentences of some entries for one question."""

    def __init__(
        self,
        question: Question,
        entries: Sequence[EvidenceEntry],
        weights: SentenceWeights = SHIPPED,
    ) -> None:
        self._question = question
        self._weights = weights
        self._threads = order_in_threads(entries)
        # Each thread that was looked at has its terms here.
        self._terms: dict[str, frozenset[str]] = {}
        self._texts = {
            thread: "\n".join(
                one.translate(f"{one.row.title}\n{one.row.text}") for one in members
            )
            for thread, members in self._threads.items()
            if question.things
        }
        self._owners = self._find_owners()
        # What of the question each thread calls by its name.
        self._called = {one: self._find_called(one) for one in self._threads}
        self._entries = [
            one for one in entries if question.is_called_by(self._called[one.thread])
        ]
        self._held = {word: self._count_holders(word) for word in question.words}
        self._rarity = {
            # A word that none of them has is no rarer than one that one of them has.
            word: _rarity(len(entries), max(1, held))
            for word, held in self._held.items()
        }
        # What is called by a number is in every thread that is left.
        self._numbered = len(question.things) * _rarity(len(entries), 1)
        self._people = frozenset[str]().union(*(one.people for one in entries))
        threads = {one.thread for one in self._entries}
        self._held_by = {one: self._find_share(one) for one in threads}
        most = max(self._held_by.values(), default=0.0)
        least = _LEAST_SHARE_BY_WORDS if question.kind == "why" else _LEAST_SHARE
        self._entries = [
            one for one in self._entries if self._held_by[one.thread] >= least * most
        ]
        is_of_latest = question.is_of_state or question.is_of_last
        self._latest = self._find_latest() if is_of_latest else None
        is_done = question.kind in deeds.KINDS or question.is_how_to
        self._is_of_deed = bool(question.deed) and is_done

    @property
    def is_gated(self) -> bool:
        """Tell whether no entry's thread names all that the question names."""
        return not self._entries

    @property
    def unnamed(self) -> tuple[QuestionName | NumberedThing, ...]:
        """Return the names of the question that no thread at hand has."""
        known = frozenset[QuestionName | NumberedThing]().union(*self._called.values())
        if self._question.is_called_by(known):
            return ()
        return tuple(one for one in self._question.called if one not in known)

    def is_written(self, word: str) -> bool:
        """Tell whether any of the entries has a word of the question."""
        return self._held[word] > 0 or any(
            self._question.is_said(word, one.language, one.terms)
            for members in self._threads.values()
            for one in members
        )

    def score_by_words(self) -> list[ScoredSentence]:
        """Return the sentences of every entry that names enough, best first."""
        scored = [
            self._score(one) for entry in self._entries for one in entry.candidates()
        ]
        return sorted(scored, key=_best_first)

    def add_cosines(
        self, scored: Sequence[ScoredSentence], cosines: Mapping[Sentence, float]
    ) -> list[ScoredSentence]:
        """Add the cosines of candidates to their scores; return them best first."""
        told = [
            one
            if one.candidate not in cosines
            else replace(
                one,
                score=one.score + self._weights.cosine * cosines[one.candidate],
                cosine=cosines[one.candidate],
            )
            for one in scored
        ]
        return sorted(told, key=_best_first)

    def date_by_entries(self, scored: Sequence[ScoredSentence]) -> list[ScoredSentence]:
        """Take for when something was done the time of an entry that says all of it."""
        return [
            replace(one, is_of_kind=True, is_dated=True)
            if one.coverage >= (_DEED_COVERAGE if self._is_of_deed else _WHOLE_COVERAGE)
            and not (one.fills_slot and one.is_sure)
            and not one.candidate.entry.is_procedure
            and self._question.is_dated_by(
                one.candidate.text, one.candidate.entry.row.language
            )
            else one
            for one in scored
        ]

    def _score(self, one: Sentence) -> ScoredSentence:
        entry, weights = one.entry, self._weights
        terms = one.terms | entry.context_terms
        # Who wrote it is known of each of its sentences, and ranks none of them.
        coverage = self.coverage(entry, terms | entry.authors)
        text = entry.translate(one.text) if self._question.counted else one.text
        of_kind = self._question.is_answered_by(text, entry.row.language, self._people)
        is_signed = bool(entry.row.authors) and any(
            self._question.is_done_by_author(said, entry.row.language)
            for said in {one.text, entry.translate(one.text)}
        )
        of_kind |= is_signed
        of_kind &= list_unsaid.tells_dimensions(self._question, one)
        if self._question.is_of_state:
            # `It runs again` is said of what its entry has named.
            refers = sentence_kinds.refers_back(one.text, entry.language)
            if refers:
                coverage = self.coverage(entry, entry.terms)
            # `Works again` is said of anything, as `closed` is.
            least = _STATE_COVERAGE
            if self._question.called or self._question.tells_order(
                text, entry.language
            ):
                least = _ABOUT_COVERAGE
            of_kind &= self._question.is_state_of(text, entry.language, one.terms)
            of_kind &= coverage >= least and not entry.is_procedure
        score = weights.coverage * self.coverage(entry, terms)
        score += weights.entry * entry.score
        score += weights.kind * of_kind
        score += weights.latest * (entry is self._latest)
        is_told = self._question.is_how_to and entry.is_procedure
        if self._question.is_how_to:
            # What only names the task, as an order of work does, tells no step of it.
            is_task = bool(self._question.deed) and self.count_added(one) < LEAST_ADDED
            of_kind = is_told or (of_kind and not is_task)
        score += weights.procedure * is_told
        deed = self._question.deed_in(entry.language) if self._is_of_deed else None
        is_of_deed = deed is None or not deed.isdisjoint(self._thread_terms(entry))
        is_sure = deed is None or not deed.isdisjoint(terms)
        if self._question.is_of_state:
            # What only its title names is perhaps not what is closed, and what was so
            # once is perhaps no longer.
            is_sure = self._question.tells_order(text, entry.language, surely=True) or (
                self.has_word(one) and not self._question.asks_order
            )
            is_sure &= not refers
        if self._question.kind == "why":
            # `This was the cause` in a sentence of something else is of that.
            is_sure = sentence_kinds.begins_with_cause(one.text) or (
                sentence_kinds.names_cause(one.text) and self.has_word(one)
            )
            score += weights.reply * entry.is_reply
            score += weights.cause * is_sure
            if one.start is None:
                is_echo = self.count_added(one) < LEAST_ADDED
                score += weights.title - weights.echo * is_echo
        return ScoredSentence(
            one,
            score,
            coverage,
            of_kind,
            is_signed=is_signed,
            is_sure=is_sure,
            is_of_deed=is_of_deed,
        )

    def has_word(self, one: Sentence) -> bool:
        """Tell whether a sentence itself has a word for what a question is about."""
        question = self._question
        return any(
            question.is_said(word, one.language, one.terms)
            for word in question.words
            if word != question.deed or not question.is_of_state
        )

    def count_added(self, one: Sentence) -> int:
        """Return how many words a title or sentence has that the question has not."""
        entry = one.entry
        words = entry.title_words if one.start is None else entry.words_in(one.text)
        wanted = self._question.terms_in(entry.language).values()
        return len(words.difference(wanted))

    def coverage(self, entry: EvidenceEntry, terms: frozenset[str]) -> float:
        """Return the share of the question's words that are among terms.

        Whether a number alone is told is judged by itself.
        """
        wanted = self._question.terms_in(entry.language)
        if not wanted:
            return float(bool(self._question.numbers))
        whole = sum(self._rarity[word] for word in wanted) + self._numbered
        language = entry.language
        told = {one for one in wanted if self._question.is_said(one, language, terms)}
        for choice in self._question.choices:
            # One of those that it offers is enough.
            offered = {one.written for one in choice}
            told |= offered & wanted.keys() if told & offered else set()
        held = sum(self._rarity[word] for word in wanted if word in told)
        return (held + self._numbered) / whole

    def _find_called(self, thread: str) -> frozenset[QuestionName | NumberedThing]:
        """Return the names and numbered things of the question that a thread has."""
        question, members = self._question, self._threads[thread]
        if not question.called:
            return frozenset()
        names = frozenset[str]().union(*(one.names for one in members))
        found: set[QuestionName | NumberedThing] = {
            one
            for one in question.names
            # A word in capitals may be the name of nothing: `the Klystrons`.
            if one.term in names
            or any(
                question.terms_in(each.language).get(one.written) in each.terms
                for each in members
            )
        }
        found.update(
            one
            for one in question.things
            if numbered_things.is_named(one, self._texts[thread], names)
            and self._has_owner(one, thread)
        )
        return frozenset(found)

    def _find_owners(self) -> dict[NumberedThing, str]:
        """Return whose each numbered thing is, where entries tell units of others."""
        found = {
            # Made comparable only for a thing that may have an owner.
            one: numbered_things.find_owner(
                one, map(make_comparable, self._texts.values())
            )
            for one in self._question.things
        }
        return {one: owner for one, owner in found.items() if owner is not None}

    def _has_owner(self, thing: NumberedThing, thread: str) -> bool:
        owner = self._owners.get(thing)
        return owner is None or owner in make_comparable(self._texts[thread])

    def _thread_terms(self, entry: EvidenceEntry) -> frozenset[str]:
        if entry.thread not in self._terms:
            members = self._threads[entry.thread]
            self._terms[entry.thread] = frozenset[str]().union(
                *(one.terms for one in members)
            )
        return self._terms[entry.thread]

    def _find_share(self, thread: str) -> float:
        """Return how much of the question's words a thread has."""
        members = self._threads[thread]
        terms = self._thread_terms(members[0])
        return max(self.coverage(one, terms) for one in members)

    def _find_latest(self) -> EvidenceEntry | None:
        """Return the last entry of what the question is about."""
        best = max((one.score for one in self._entries), default=0.0)
        about = (
            one
            for one in self._entries
            if (one.is_hit or one.is_newest)
            and one.score >= _ABOUT_SCORE * best
            and self._held_by[one.thread] >= _ABOUT_COVERAGE
        )
        return max(about, key=lambda one: one.time, default=None)

    def _count_holders(self, word: str) -> int:
        """Return how many of the entries have a word of the question."""
        return sum(
            self._question.terms_in(entry.language).get(word) in entry.terms
            for members in self._threads.values()
            for entry in members
        )


def _rarity(entries: int, holders: int) -> float:
    return math.log(1 + (entries + 1) / (holders + 0.5))


def _best_first(one: ScoredSentence) -> tuple[float, tuple[str, int]]:
    return -one.score, one.candidate.place
