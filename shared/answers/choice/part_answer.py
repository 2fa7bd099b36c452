"""Answer one question, or one part of it, from evidence that was read; no I/O."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from shared.answers.choice import answer_status, sentence_score
from shared.answers.choice.answer_status import Judgement, Support
from shared.answers.choice.choose_sentences import MOST_SENTENCES, choose_sentences
from shared.answers.choice.list_unsaid import list_unsaid
from shared.answers.choice.reckoned_times import reckon_times
from shared.answers.choice.sentence_score import ScoredSentence
from shared.answers.evidence.evidence import EvidenceEntry, Sentence
from shared.answers.question import sentence_kinds
from shared.answers.question.numbered_things import NumberedThing
from shared.answers.question.question import Question, QuestionName
from shared.vocabulary.expand import UNSTEMMED

# How alike in meaning each of some candidates is to the question, 0..1; nothing where
# no model is at hand.
Meanings = Callable[[Question, Sequence[Sentence]], dict[Sentence, float]]
# Which of some words stand in no entry at all.
Unwritten = Callable[[Question, Sequence[str]], tuple[str, ...]]
# So many of the best by words are compared by meaning, too.
COMPARED = 8
# A time in a sentence with no more of the words may be that of something else.
_LEAST_DATED = 0.6
# With no more of them its time or person is that of something else for sure.
_LEAST_MEANT = 0.5
# A best hit so far ahead of all other threads is the answer alone.
CLEAR_LEAD = 0.25


@dataclass(frozen=True, slots=True)
class PartAnswer:
    """The sentences chosen for a question, and their judgement."""

    question: Question
    chosen: list[ScoredSentence]
    judgement: Judgement
    # Names that no entry at hand has.
    unnamed: tuple[QuestionName | NumberedThing, ...] = ()
    is_of_kind: bool = False
    # The best of all candidates, chosen or not; of a count each that is counted.
    best: tuple[ScoredSentence, ...] = ()
    # How many entries say so, where that is asked for.
    counted: str = ""
    # Words of the question that no entry at all has.
    unwritten: tuple[str, ...] = ()


def answer_part(
    question: Question,
    entries: Sequence[EvidenceEntry],
    meanings: Meanings,
    unwritten: Unwritten,
    characters: int,
    *,
    is_outside: bool = False,
    zone: str = "UTC",
    weights: sentence_score.SentenceWeights = sentence_score.SHIPPED,
) -> PartAnswer:
    """Choose sentences for a question and judge them.

    `is_outside`: the time that is asked for lies before all that is loaded whole;
    `zone`: on whose clock entries were written.
    """
    scores = sentence_score.SentenceScores(question, entries, weights)
    scored = scores.score_by_words()
    known: dict[Sentence, float] = {}
    # A cause, and how something is by now, is seldom told in words like the question's.
    by_words = question.kind == "why" or question.is_of_state
    if not by_words:
        known = meanings(question, [one.candidate for one in scored[:COMPARED]])
        scored = scores.add_cosines(scored, known)
    led = _led(scored) if question.kind == "why" else scored
    if question.kind == "when" and (question.is_of_last or not _tells_when(scored)):
        scored = scores.date_by_entries(scored)
        dated = {one.candidate.entry for one in scored if one.is_dated}
        led = [one for one in scored if one.candidate.entry in dated] or scored
    if question.is_of_last or question.is_of_state:
        led = _of_last(question, scored) or led
    is_typed = question.kind not in {"why", "which", "what"}
    is_typed = is_typed or question.is_of_state or question.is_how_to
    chosen = choose_sentences(led, is_typed=is_typed, characters=characters)
    if question.kind == "why":
        chosen = _with_reply(scores, chosen, led, characters)
    reckoned = reckon_times(question, scored, zone)
    if reckoned:
        scored = [*reckoned, *scored]
        chosen = reckoned
    if question.is_how_to:
        chosen = _tell_steps(chosen, scored, characters)
    # Whether one of several is meant was judged with the names.
    offered = {one.written for one in question.offered}
    missing = [
        word
        for word in question.words
        if word not in offered and not scores.is_written(word)
    ]
    cited = [one.candidate.entry for one in chosen]

    def compare() -> float | None:
        found = known
        if by_words:
            found = meanings(question, [one.candidate for one in chosen])
        if not found:
            return None
        return max((found.get(one.candidate, 0.0) for one in chosen), default=0.0)

    best_sentence = max((one.coverage for one in chosen), default=0.0)
    support = Support(
        is_gated=scores.is_gated,
        coverage=max(_coverage(scores, chosen), best_sentence),
        best_sentence=best_sentence,
        compare=compare,
        unsupported=unwritten(question, missing),
        is_outside=is_outside,
        is_translated=any(one.translations for one in cited),
        unsaid=list_unsaid(
            question,
            cited,
            _list_beside(cited, entries),
            [one.candidate for one in chosen],
        ),
        has_names_alone=_have_names_alone(question, entries, cited),
        needs_all=question.is_how_to,
        least_of_kind=_LEAST_MEANT
        if question.kind in {"when", "who"}
        or question.is_how_to
        or question.is_of_times
        else 0.0,
        is_indirect=any(
            # What two languages say need not be quite the same.
            question.languages and one.language not in (*question.languages, UNSTEMMED)
            for one in cited
        )
        or any(one.is_dated or one.is_signed or one.reckoned for one in chosen)
        or (question.is_how_to and not any(one.is_procedure for one in cited[:1])),
        is_echo=question.kind == "why"
        and not any(
            one.is_of_kind or scores.count_added(one.candidate) for one in chosen
        ),
    )
    # The last that tells a state, `It runs again`, has few words of the question.
    best = [*chosen, *scored] if question.is_of_state else scored
    judgement = answer_status.ground(best, chosen, support, needs_kind=is_typed)
    return PartAnswer(
        question,
        chosen,
        judgement,
        scores.unnamed,
        judgement.code != "missing_kind" and any(one.fills_slot for one in chosen),
        tuple(scored[: answer_status.BEST_OF_KIND]),
        unwritten=support.unsupported,
    )


def _with_reply(
    scores: sentence_score.SentenceScores,
    chosen: list[ScoredSentence],
    led: Sequence[ScoredSentence],
    characters: int,
) -> list[ScoredSentence]:
    """Return the chosen sentences, with the heading of a reply where none is of one.

    It tells soonest what the reply found, and takes the place of the sentence that adds
    least to the question.
    """
    threads = {one.candidate.entry.thread for one in chosen}
    found = next(
        (
            one
            for one in led
            if one.candidate.entry.is_reply
            and one.candidate.entry.thread in threads
            and one.candidate.start is None
            and scores.count_added(one.candidate) >= sentence_score.LEAST_ADDED
            and scores.has_word(one.candidate)
        ),
        None,
    )
    if found is None or any(one.candidate.entry.is_reply for one in chosen):
        return chosen
    told = list(chosen)
    if len(told) == MOST_SENTENCES:
        told.remove(min(told, key=lambda one: scores.count_added(one.candidate)))
    told.append(found)
    left = characters - sum(len(one.candidate.text) + 1 for one in told)
    return told if left >= 0 else chosen


def _list_beside(
    cited: Sequence[EvidenceEntry], entries: Sequence[EvidenceEntry]
) -> list[EvidenceEntry]:
    """Return the other entries at hand of the threads that are cited."""
    threads = {one.thread for one in cited}
    return [one for one in entries if one.thread in threads and one not in cited]


def _tell_steps(
    chosen: list[ScoredSentence], scored: Sequence[ScoredSentence], characters: int
) -> list[ScoredSentence]:
    """Return the steps of the procedure that leads, in turn; else what is chosen."""
    if not chosen or not chosen[0].candidate.entry.is_procedure:
        return chosen
    steps = [
        one
        for one in scored
        if one.candidate.entry is chosen[0].candidate.entry
        and one.candidate.start is not None
    ]
    steps.sort(key=lambda one: one.candidate.place)
    best = max(steps, key=lambda one: one.coverage, default=None)
    told: list[ScoredSentence] = []
    for one in steps[steps.index(best) if best else 0 :][:MOST_SENTENCES]:
        characters -= len(one.candidate.text) + 1
        if told and characters < 0:
            break
        told.append(one)
    return told or chosen


def _tells_when(scored: Sequence[ScoredSentence]) -> bool:
    """Tell whether a time is told of what is asked about, and not of something near."""
    return any(
        one.is_sure and one.fills_slot_of(_LEAST_DATED)
        for one in scored[: answer_status.BEST_OF_KIND]
    )


def _have_names_alone(
    question: Question, entries: Sequence[EvidenceEntry], cited: Sequence[EvidenceEntry]
) -> bool:
    """Tell whether the threads that are cited have no word of a question but names."""
    words = question.plain_words
    threads = {one.thread for one in cited}
    return bool(words) and not any(
        question.is_said(word, one.language, one.terms)
        for one in entries
        if one.thread in threads
        for word in words
    )


def _of_last(
    question: Question, scored: Sequence[ScoredSentence]
) -> list[ScoredSentence]:
    """Return the sentences of the last thread that tells what is asked, if any does.

    The cause of what happened last is told beside it, in words of its own.
    """
    is_why = question.kind == "why"
    telling = (
        _list_happened(question, scored)
        if is_why
        else {one.candidate.entry for one in scored if one.fills_slot_of(_LEAST_DATED)}
    )
    last = max(telling, key=lambda one: (one.time, -one.rank), default=None)
    of_it = [
        one for one in scored if last and one.candidate.entry.thread == last.thread
    ]
    if question.is_of_state:
        return _of_last_state(question, of_it)
    return [one for one in of_it if is_why or _has_any_word(question, one.candidate)]


def _list_happened(
    question: Question, scored: Sequence[ScoredSentence]
) -> set[EvidenceEntry]:
    """Return the entries that tell of what is asked about as of what happened.

    `Alarms stopped` tells of no trip, where another entry calls one so; where none
    does, it is told by another verb, and not `at the hard stop`.
    """
    words = question.plain_words
    meant = [term for one in words for term in question.terms_meant(one)]
    found: dict[bool, set[EvidenceEntry]] = {True: set(), False: set()}
    for one in scored:
        said = one.candidate
        if one.coverage >= answer_status.SHIPPED.whole_coverage and (
            question.is_told_whole(said.text, said.language, said.terms)
        ):
            own = question.terms_in(said.language)
            is_own = all(own[word] in said.terms for word in words)
            if is_own or sentence_kinds.tells_verb(said.text, meant):
                found[is_own].add(said.entry)
    return found[True] or found[False]


def _of_last_state(
    question: Question, scored: Sequence[ScoredSentence]
) -> list[ScoredSentence]:
    """Return the sentences of a thread's last entry that says whether it is so.

    `Valve opened on reset`, in the thread of a valve that closed, need not name it.
    """
    most = max((one.coverage for one in scored if one.is_of_kind), default=0.0)
    telling = [
        replace(
            one,
            is_of_kind=True,
            is_sure=one.is_sure and one.coverage == most,
            coverage=most,
        )
        for one in scored
        if one.is_of_kind
        or question.is_state_of(
            one.candidate.text, one.candidate.language, one.candidate.terms
        )
    ]
    last = max((one.candidate.entry.time for one in telling), default=None)
    return [one for one in telling if one.candidate.entry.time == last]


def _has_any_word(question: Question, one: Sentence) -> bool:
    """Tell whether a sentence, its title or its tags have a word of a question."""
    wanted = question.terms_in(one.entry.language).values()
    return not (one.terms | one.entry.context_terms).isdisjoint(wanted)


def _led(scored: Sequence[ScoredSentence]) -> list[ScoredSentence]:
    """Return the sentences of the thread that clearly leads; of none, all."""
    best: dict[str, float] = {}
    for one in scored:
        entry = one.candidate.entry
        best[entry.thread] = max(best.get(entry.thread, 0.0), entry.score)
    order = sorted(best.items(), key=lambda one: -one[1])
    if len(order) > 1 and order[1][1] >= order[0][1] * (1 - CLEAR_LEAD):
        return list(scored)
    return (
        [one for one in scored if one.candidate.entry.thread == order[0][0]]
        if order
        else []
    )


def _coverage(
    scores: sentence_score.SentenceScores, chosen: Sequence[ScoredSentence]
) -> float:
    """Return how much of the question the best of the chosen entries has."""
    best = 0.0
    for one in chosen:
        entry = one.candidate.entry
        terms = (entry.context_terms | entry.authors).union(
            *(two.candidate.terms for two in chosen if two.candidate.entry is entry)
        )
        best = max(best, scores.coverage(entry, terms))
    return best
