"""Whether an answer is grounded: the one function that all answers in sentences ask."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from shared.answers.choice.sentence_score import ScoredSentence
from shared.search.response.answer import Grade, Status

# One of so many best sentences must be of the kind that is asked for.
BEST_OF_KIND = 12


@dataclass(frozen=True, slots=True)
class Thresholds:
    """How many of the question's words, and how like a meaning, an answer must have.

    Meaning is the calibrated cosine, so that they hold for another model, too. Chosen
    for at least .95 of what is grounded to be answerable, over the questions of
    `make bench-answers`, which prints the curve.
    """

    least_coverage: float = 0.35
    least_meaning: float = 0.5
    # With so many of the words the least of meaning is enough, and the other way round.
    sure_coverage: float = 0.6
    sure_meaning: float = 0.75
    # A sentence that has so many of them by itself need not be alike in meaning.
    whole_coverage: float = 0.9
    # What means the same need not have as many of them.
    alike_coverage: float = 0.7
    # A word that nobody has written is another word for what was found.
    same_meaning: float = 0.8
    # So alike in meaning is what has the question's words in another language.
    translated_meaning: float = 0.6


SHIPPED = Thresholds()


@dataclass(frozen=True, slots=True)
class Judgement:
    """The status and grade of an answer, with the words that stand in no entry."""

    status: Status
    code: str
    grade: Grade
    # Words of the question that stand in no entry, and what is unsaid.
    unsupported: tuple[str, ...] = ()
    # What it denies, counts in or states, where no entry that was found does so.
    unsaid: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Support:
    """How far the evidence supports an answer, when it is judged."""

    # No thread among the evidence names all that the question names.
    is_gated: bool
    # The share of the question's words, by their rarity, that one entry has.
    coverage: float
    # The same of one sentence, read with the title of its entry.
    best_sentence: float
    # Returns how alike in meaning the chosen are at best; None: no model is at hand. It
    # takes some ms a sentence, so it is asked only where words alone do not decide.
    compare: Callable[[], float | None]
    unsupported: tuple[str, ...] = ()
    # The time that is asked for lies before all that is loaded whole.
    is_outside: bool = False
    # What the question says did not happen, or counts in, where no entry does so:
    # `not trip`, `volts`.
    unsaid: tuple[str, ...] = ()
    # What is chosen has what the question names, and no other word of it.
    has_names_alone: bool = False
    # What is chosen has words of the question by their meaning, in another language.
    is_translated: bool = False
    # Why something happened is asked, and all that is chosen says that it did.
    is_echo: bool = False
    # How something is done is asked: with some of the words it is another procedure,
    # and whoever follows that does harm.
    needs_all: bool = False
    # A sentence fills the slot with more than so many of the question's words.
    least_of_kind: float = 0.0
    # No sentence says what fills the slot: when an entry was written, or how it went
    # once, where it is asked how it is done.
    is_indirect: bool = False


def ground(
    scored: Sequence[ScoredSentence],
    chosen: Sequence[ScoredSentence],
    support: Support,
    thresholds: Thresholds = SHIPPED,
    *,
    needs_kind: bool = True,
) -> Judgement:
    """Judge an answer by its slots first: similarity alone cannot refuse.

    Why something happened is told in too many ways: no sentence need say `because`, but
    where none does the answer is no A.
    A time before all that is loaded whole is why there is no answer, not the words.
    """
    judgement = _judge(scored, chosen, support, thresholds, needs_kind=needs_kind)
    if support.is_outside and judgement.status != "grounded":
        return Judgement("insufficient", "outside_coverage", "D", support.unsupported)
    return judgement


def _judge(
    scored: Sequence[ScoredSentence],
    chosen: Sequence[ScoredSentence],
    support: Support,
    thresholds: Thresholds,
    *,
    needs_kind: bool,
) -> Judgement:
    unsupported = support.unsupported
    if support.is_gated:
        return Judgement("insufficient", "unknown_name", "D", unsupported)
    if not chosen:
        return Judgement("insufficient", "no_results", "D", unsupported)
    if support.unsaid:
        unsupported = tuple(dict.fromkeys((*unsupported, *support.unsaid)))
        return Judgement(
            "clarify", "unsupported_words", "D", unsupported, support.unsaid
        )
    is_of_kind = any(
        one.fills_slot_of(support.least_of_kind) for one in scored[:BEST_OF_KIND]
    )
    if support.is_echo or (needs_kind and not is_of_kind):
        return Judgement("insufficient", "missing_kind", "D", unsupported)
    covers = support.coverage >= thresholds.sure_coverage
    is_near = support.best_sentence >= thresholds.whole_coverage
    is_told = not unsupported or support.coverage >= thresholds.whole_coverage
    is_about = not support.has_names_alone
    if support.is_translated or not (covers and is_near and is_told and is_about):
        compared = support.compare()
        meaning = compared or 0.0
        # Without a model at hand words alone decide.
        least = thresholds.least_meaning
        if support.needs_all:
            least = thresholds.sure_meaning
        is_near |= meaning >= least or (compared is None and not support.needs_all)
        is_same = meaning >= thresholds.same_meaning and not support.is_translated
        is_told |= is_same
        is_about |= is_same
        is_meant = (
            support.coverage >= thresholds.least_coverage
            and meaning >= thresholds.sure_meaning
            and not support.is_translated
        )
        # Words that were compared one by one say no more than the whole does.
        covers &= not support.is_translated or meaning >= thresholds.translated_meaning
        if support.coverage < thresholds.least_coverage and not is_near:
            return Judgement("insufficient", "unsupported_words", "D", unsupported)
        if not is_told:
            return Judgement("clarify", "unsupported_words", "D", unsupported)
        if not (is_about and ((covers and is_near) or is_meant)):
            return Judgement("clarify", "ambiguous_query", "D", unsupported)
    entries = {one.candidate.entry.row.entry_id for one in chosen}
    code = "single_lead" if len(entries) == 1 else "blended"
    is_filled = covers and any(_fills_surely(one, thresholds) for one in chosen)
    is_filled &= not (support.is_translated or support.is_indirect)
    return Judgement("grounded", code, "A" if is_filled else "B", unsupported)


def _fills_surely(one: ScoredSentence, thresholds: Thresholds) -> bool:
    """Tell whether a sentence fills the slot and by itself says what is asked about.

    `At 10:15 the water was off` says of no pump when it was repaired, nor does the
    entry in which both stand.
    """
    is_same = one.cosine is not None and one.cosine >= thresholds.same_meaning
    least = thresholds.alike_coverage if is_same else thresholds.whole_coverage
    return one.is_sure and one.fills_slot and one.coverage >= least
