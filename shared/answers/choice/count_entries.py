"""How often something happened: how many entries say its words in one sentence."""

from collections.abc import Sequence
from zoneinfo import ZoneInfo

from shared.answers.choice.answer_status import SHIPPED, Judgement
from shared.answers.choice.part_answer import PartAnswer
from shared.answers.choice.sentence_score import ScoredSentence, SentenceScores
from shared.answers.evidence.evidence import EvidenceEntry
from shared.answers.question.question import Question

# So many of the newest entries are read for a count.
MOST_COUNTED = 100
# So many of them are told, the newest.
_MOST_TOLD = 3


def count_entries(
    question: Question, entries: Sequence[EvidenceEntry], zone: str
) -> PartAnswer | None:
    """Return how many entries say it in one sentence, and the last; None: none does.

    Names may stand around the sentence. Of one occasion several entries may tell, so
    that their threads are counted, too.
    """
    if not (entries and question.plain_words):
        return None
    scored = SentenceScores(question, entries).score_by_words()
    saying = [
        one
        for one in scored
        if one.coverage >= SHIPPED.whole_coverage
        and not one.candidate.entry.is_procedure
        and question.is_told_whole(
            one.candidate.text, one.candidate.language, one.candidate.terms
        )
    ]
    # The best sentence of each entry.
    best = {one.candidate.entry: one for one in reversed(saying)}
    told = sorted(best.values(), key=_moment, reverse=True)
    if not told:
        return None
    return PartAnswer(
        question,
        told[:_MOST_TOLD],
        Judgement("grounded", "single_lead" if len(told) == 1 else "blended", "B"),
        is_of_kind=True,
        best=tuple(told),
        counted=_say_count(
            question, [one.candidate.entry for one in told], len(entries), zone
        ),
    )


def _say_count(
    question: Question, entries: Sequence[EvidenceEntry], looked_at: int, zone: str
) -> str:
    """Return how many entries there are and of which days; they are newest first."""
    threads = len({one.thread for one in entries})
    number = "1 entry says" if len(entries) == 1 else f"{len(entries)} entries say"
    words = ", ".join(f"\u201c{one}\u201d" for one in question.words)
    number += f" {words} or other words for it"
    if threads < len(entries):
        number += f", in {threads} {'thread' if threads == 1 else 'threads'}"
    first, last = (
        f"{one.time.astimezone(ZoneInfo(zone)):%Y-%m-%d}"
        for one in (entries[-1], entries[0])
    )
    when = f"on {last}" if first == last else f"from {first} to {last}"
    least = "At least " if looked_at >= MOST_COUNTED else ""
    return f"{least}{number}, {when}"


def _moment(one: ScoredSentence) -> tuple[object, str]:
    return one.candidate.entry.time, one.candidate.place[0]
