"""Whether a number of a question stands in the evidence: nobody wrote of 67:58."""

from __future__ import annotations

from collections.abc import Iterable

from shared.answers.evidence.evidence import EvidenceEntry
from shared.answers.question.plain_numbers import find_numbers
from shared.answers.question.question import Question


def find_unsaid_number(
    question: Question, entries: Iterable[EvidenceEntry]
) -> str | None:
    """Return the first number of a question that no entry has; None: they have all."""
    if not question.numbers:
        return None
    told = {number for one in entries for number in find_numbers(_whole(one))}
    return next(
        (one for one in question.numbers if not told.issuperset(find_numbers(one))),
        None,
    )


def _whole(one: EvidenceEntry) -> str:
    row = one.row
    beside = (row.external_id, *row.tags, *map(str, row.metadata.values()))
    return "\n".join((row.title, one.text, *beside))
