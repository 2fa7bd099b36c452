"""The card of a device: what it is called, how it stands, what was done to it last."""

from collections import Counter
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from shared.cards import card_statements
from shared.cards.card_rows import CardEntry, CardValue, within_bounds
from shared.cards.card_statements import CardStatement, Subject
from shared.cards.card_things import CardThing, names_thing
from shared.search.response.card import Card, CardLine, LineKind
from shared.text.facility.incident_words import Own, State
from shared.text.reading.incidents import quoted
from shared.text.reading.locks import find_locks
from shared.text.reading.quantities import find_quantities, say_quantity
from shared.times.rfc3339 import timestamp

MOST_ALIASES, MOST_IDS, MOST_OPEN, MOST_LOCKS = 10, 20, 3, 3
# Entries are read newest first until the last trip and the last fix are known.
MOST_STATEMENTS_READ = 40
_MONTH_DAYS = 30.4375
_SUMMARY, _LONGEST_SHIFT = "shift_summary", timedelta(hours=12)
_UNDECIDED: tuple[State, ...] = ("open", "monitoring")


class BestHit(NamedTuple):
    """The best hit about the thing, and its score."""

    entry_id: str | None
    score: float


class _Told(NamedTuple):
    """The state, the last trip and fix, and the open threads of a thing."""

    state: State
    trip: CardStatement | None
    fix: CardStatement | None
    open_threads: list[CardStatement]


def make_thing_card(
    thing: CardThing,
    entries: Sequence[CardEntry],
    values: Sequence[CardValue],
    best: BestHit,
    zone: str,
    own: Own,
) -> Card:
    """Return the card of a thing that some entries name, newest first."""
    naming = [one for one in entries if one.is_naming]
    spellings = _spellings(thing, naming)
    subject = Subject((thing.title, *thing.aliases, *spellings))
    about = _threads_about(entries, subject)
    told = _read(entries, subject, about, zone, own)
    newest, title = naming[0], thing.title or (spellings or [thing.canonical])[0]
    others = [one for one in (*thing.aliases, *spellings) if one != title]
    return Card(
        card_id=f"entity:{thing.kind}:{thing.canonical}",
        type="entity",
        title=title,
        aliases=list(dict.fromkeys(others))[:MOST_ALIASES],
        why=thing.why,
        score=best.score,
        top_entry_id=best.entry_id,
        entry_ids=[str(one.entry_id) for one in naming[:MOST_IDS]],
        count=newest.entries,
        per_month=_per_month(newest),
        facets={"kind": newest.kinds or {}, "month": newest.months or {}},
        state=told.state,
        first_time=timestamp(newest.first_time),
        last_time=timestamp(newest.entry_time),
        lines=[
            card_statements.first_line(newest),
            *([told.trip.line("last_trip")] if told.trip else ()),
            *([told.fix.line("last_fix")] if told.fix else ()),
            *(one.line("open") for one in told.open_threads),
            *map(_value_line, values),
            *_lock_lines(entries, subject, about),
        ],
    )


def _read(
    entries: Sequence[CardEntry],
    subject: Subject,
    about: AbstractSet[UUID | None],
    zone: str,
    own: Own,
) -> _Told:
    """Read entries newest first, so that the newest statement on each matter holds."""
    state: State | None = None
    trip: CardStatement | None = None
    # Where nobody says that it tripped: that it was the culprit of another's fault.
    blamed: CardStatement | None = None
    fix: CardStatement | None = None
    states: dict[UUID | None, tuple[State, CardStatement]] = {}
    left_open: list[CardStatement] = []
    read = [*within_bounds(entries[:MOST_STATEMENTS_READ])]

    def find_own(entry: CardEntry) -> list[CardStatement]:
        found = card_statements.statements_of(entry, zone, own)
        return subject.own(entry, found, is_reply=entry.thread_id in about)

    for place, entry in enumerate(read):
        said = find_own(entry)
        if entry.kind == _SUMMARY and any(map(_is_undated_trip, said)):
            before = (
                one
                for one in read[place + 1 :]
                if one.kind != _SUMMARY
                and entry.entry_time - one.entry_time <= _LONGEST_SHIFT
            )
            if any(one.said.step == "trip" for e in before for one in find_own(e)):
                # The summary of a shift tells what its entries told.
                said = [one for one in said if not _is_undated_trip(one)]
        trip = trip or _latest(said, "trip")
        blamed = blamed or next(filter(subject.blames, said), None)
        fix = fix or max(
            (one for one in said if one.is_fix),
            key=lambda one: (one.said.step == "restored", one.time),
            default=None,
        )
        stands = card_statements.state_of(said)
        if stands is not None:
            state = state or stands
            thread = entry.thread_id or entry.entry_id
            last = [one for one in said if one.said.state == stands][-1]
            states.setdefault(thread, (stands, last))
        left_open = [last for stands, last in states.values() if stands in _UNDECIDED]
        if trip and fix and len(left_open) >= MOST_OPEN:
            # Older entries add nothing to what a card has room for.
            break
    return _Told(state or "unknown", trip or blamed, fix, left_open[:MOST_OPEN])


def _threads_about(entries: Sequence[CardEntry], subject: Subject) -> set[UUID | None]:
    """Return the threads that began with the thing: of these each reply tells of it."""
    begun = {one.thread_id: one for one in entries if one.thread_id}
    return {thread for thread, first in begun.items() if subject.is_of_entry(first)}


def _is_undated_trip(one: CardStatement) -> bool:
    return one.said.step == "trip" and one.said.time_from == "entry"


def _latest(said: Sequence[CardStatement], step: str) -> CardStatement | None:
    found = [one for one in said if one.said.step == step]
    return max(found, key=lambda one: one.time) if found else None


def _spellings(thing: CardThing, naming: Sequence[CardEntry]) -> list[str]:
    """Return the spellings of the thing in entries, the commonest first."""
    counts = Counter(
        one["name"]
        for entry in naming
        for one in entry.entities
        if names_thing(thing, [one])
    )
    return [name for name, _ in sorted(counts.items(), key=lambda o: (-o[1], o[0]))]


def _per_month(newest: CardEntry) -> float | None:
    days = (newest.entry_time - newest.first_time).total_seconds() / 86_400
    return round(newest.entries / max(1.0, days / _MONTH_DAYS), 2)


def _value_line(one: CardValue) -> CardLine:
    """Return a value as its entry says it; where no text has it, in a usual unit."""
    stated = find_quantities(one.text, one.language)
    units = (
        found.unit
        for found in stated
        if (found.dimension, found.value) == (one.dimension, one.value)
    )
    value = say_quantity(one.dimension, one.value, next(units, ""))
    said = f"{one.parameter} {value}"
    return card_statements.make_line(one, "value", said, one.said_at, None)


def _lock_lines(
    entries: Sequence[CardEntry], subject: Subject, about: AbstractSet[UUID | None]
) -> Iterator[CardLine]:
    """Yield the newest words on locks, of entries that are about the thing."""
    count = 0
    for entry in within_bounds(entries):
        if not (subject.is_of_entry(entry) or entry.thread_id in about):
            continue
        for lock in find_locks(entry.text):
            kind: LineKind = lock.what
            text = quoted(entry.text, lock.start, lock.end)
            at: datetime = entry.event_time or entry.entry_time
            yield card_statements.make_line(entry, kind, text, at, lock.start)
            count += 1
            if count == MOST_LOCKS:
                return
