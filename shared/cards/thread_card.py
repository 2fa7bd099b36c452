"""The card of a thread: what happened, why, what was done, since when it is back."""

from collections.abc import Sequence
from uuid import UUID

from shared.cards.card_rows import CardEntry, within_bounds
from shared.cards.card_statements import CardStatement, state_of, statements_of
from shared.cards.card_things import Why
from shared.cards.thing_card import MOST_IDS, BestHit
from shared.search.response.card import Card, CardLine, LineKind
from shared.text.facility.incident_words import Own, State, Step
from shared.times.rfc3339 import timestamp

_STEPS: tuple[tuple[Step, LineKind], ...] = (
    ("trip", "trip"),
    ("cause", "cause"),
    ("action", "action"),
    ("restored", "restored"),
)


def make_thread_card(
    thread: UUID,
    entries: Sequence[CardEntry],
    why: Why,
    best: BestHit,
    zone: str,
    own: Own,
) -> Card:
    """Return the card of a thread from its entries, newest first."""
    state: State = "unknown"
    said: list[CardStatement] = []
    for entry in reversed([*within_bounds(entries)]):
        told = statements_of(entry, zone, own)
        state = state_of(told) or state
        said += told
    first, newest = entries[-1], entries[0]
    return Card(
        card_id=f"thread:{thread}",
        type="thread",
        title=next((one.title for one in reversed(entries) if one.title), ""),
        aliases=[],
        why=why,
        score=best.score,
        top_entry_id=best.entry_id,
        entry_ids=[str(one.entry_id) for one in entries[:MOST_IDS]],
        count=newest.entries,
        per_month=None,
        facets={},
        state=state,
        first_time=timestamp(first.first_time),
        last_time=timestamp(newest.entry_time),
        lines=_lines(said),
    )


def _lines(said: Sequence[CardStatement]) -> list[CardLine]:
    """Return the steps in their order: the first trip and cause, the last of others.

    How long after the step before it each one came is told in seconds.
    """
    found: list[tuple[LineKind, CardStatement]] = []
    for step, kind in _STEPS:
        of_step = sorted(
            (one for one in said if one.said.step == step), key=lambda one: one.time
        )
        if of_step:
            is_first = step in {"trip", "cause"}
            found.append((kind, of_step[0] if is_first else of_step[-1]))
    found.sort(key=lambda one: one[1].time)
    lines = []
    before: CardStatement | None = None
    for kind, one in found:
        seconds = (one.time - before.time).total_seconds() if before else None
        lines.append(one.line(kind, seconds))
        before = one
    return lines
