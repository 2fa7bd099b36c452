"""Choose what an answer says: few sentences, none said twice, in order of time."""

from collections.abc import Sequence

from shared.answers.choice.sentence_score import ScoredSentence

MOST_SENTENCES, MOST_CHARACTERS = 3, 420
# A sentence so many of whose words are told already says nothing new. By words for
# every kind of question: only the best eight have vectors, and a sentence with another
# number in it is as near by meaning as a copy.
_ALIKE_WORDS = 0.7
# What has less than this share of the words that another has leads by its kind alone.
_LEAST_OF_MOST = 0.5


def choose_sentences(
    scored: Sequence[ScoredSentence],
    *,
    is_typed: bool,
    characters: int = MOST_CHARACTERS,
) -> list[ScoredSentence]:
    """Return the best that fit, best first.

    Where a kind of answer is asked for, the first that is of it leads.
    """
    order = list(scored)
    if is_typed:
        most = max((one.coverage for one in order), default=0.0)
        least = _LEAST_OF_MOST * most
        first = next((one for one in order if one.fills_slot_of(least)), None)
        if first is not None:
            order.remove(first)
            order.insert(0, first)
    chosen: list[ScoredSentence] = []
    left = characters
    for one in order:
        if len(chosen) == MOST_SENTENCES:
            break
        size = len(one.candidate.text)
        if size > left and chosen:
            continue
        if any(is_told(one, other) for other in chosen):
            continue
        for other in [two for two in chosen if is_told(two, one)]:
            if is_typed and other.is_of_kind and not one.is_of_kind:
                continue
            # It tells all of that, and more.
            chosen.remove(other)
            left += len(other.candidate.text) + 1
        chosen.append(one)
        left -= size + 1
    return chosen


def is_told(one: ScoredSentence, other: ScoredSentence) -> bool:
    """Tell whether most of the words of one sentence are in the other."""
    ours, theirs = one.candidate.terms, other.candidate.terms
    return len(ours & theirs) >= _ALIKE_WORDS * len(ours)


def order_in_time(chosen: Sequence[ScoredSentence]) -> list[ScoredSentence]:
    """Return sentences oldest first, as they stand within one entry."""
    return sorted(
        chosen, key=lambda one: (one.candidate.entry.time, one.candidate.place)
    )
