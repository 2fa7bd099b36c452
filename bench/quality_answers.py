"""Logbooks whose questions have known answers, as collections: to find the entries."""

from bench import answer_questions, answers_corpus
from bench.answer_questions import CLOCKS, KnownQuestion
from bench.answers_corpus import EVENTS, SAMPLE
from bench.quality_engines import Collection
from local import sample
from shared.entries.draft import EntryDraft

NAMES = (SAMPLE, EVENTS)


def read(name: str, most: int | None) -> Collection:
    """Return a logbook with its questions that have an answer, or some of them."""
    drafts = _sample() if name == SAMPLE else _events()
    asked = _questions(name)
    # Kinds stand together: of each some.
    step = -(-len(asked) // most) if most else 1
    questions = {str(number): one for number, one in enumerate(asked[::step])}
    return Collection(
        name,
        {key: _written(one) for key, one in drafts.items()},
        {number: one.text for number, one in questions.items()},
        {number: dict.fromkeys(one.relevant, 1) for number, one in questions.items()},
        drafts,
        CLOCKS[name],
    )


def _written(draft: EntryDraft) -> str:
    """Return all that a bare engine can read of an entry: the facility is a tag."""
    return "\n".join((draft.title, draft.text, *draft.tags)).strip()


def _questions(name: str) -> list[KnownQuestion]:
    given = (
        answer_questions.sample_questions()
        if name == SAMPLE
        else answer_questions.event_questions()
    )
    return [one for one in given if one.answerable and one.relevant]


def _sample() -> dict[str, EntryDraft]:
    """Return the entries of the sample as they were last written."""
    rows = (row for page in sample.pages() for row in page)
    return {row["external_id"]: answers_corpus.make_draft(row) for row in rows}


def _events() -> dict[str, EntryDraft]:
    """Return the events of a year with their titles whole."""
    rows = answers_corpus.read_events()
    drafts = (answers_corpus.make_event_draft(row, str) for row in rows)
    return {one.external_id: one for one in drafts}
