"""What handovers asked for and nobody took up: it surfaces again some shifts later.

It was taken up by a reply in its thread, or by a later entry that names the same device
and the same work; where it names no device, by one that has several of its words.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations
from typing import Any, LiteralString, NamedTuple
from uuid import UUID

from psycopg import Connection

from shared.access import rights
from shared.access.scope import Scope
from shared.cards.card_things import CardThing
from shared.cards.standing_locks import select_named
from shared.postgres.fetch_rows import fetch_all
from shared.text.analysis.analyser import Sections, quote_lexeme, words_of
from shared.text.facility.devices import DEVICE
from shared.text.facility.facility import Facility
from shared.text.reading import incidents
from shared.text.reading.actions import find_actions
from shared.text.words import function_words

# By then each of a day's three shifts could have taken it up: the next one has read the
# handover itself. What a week of crews left alone is no shift's work any more.
CARRY_AFTER_SHIFTS, ACTION_DAYS = 3, 7
MOST_HANDOVERS, MAX_CHARS, MOST_ACTIONS = 60, 10_000, 20
# So many of the words of what names no device make another entry be about it.
_MOST_WORDS, _WORDS_SHARED = 6, 3
# How something is asked for is not what is asked for.
_ASKING_WORDS = """
    please next shift todo to do pending outstanding should must need needs has have be
    somebody someone could would can will if when maybe also still handover
    bitte nachste nachsten schicht offen noch muss mussen soll sollte werden wird jemand
    wenn
"""
_ASKING = frozenset(_ASKING_WORDS.split())

_HANDOVERS: LiteralString = f"""
    SELECT e.id AS entry_id, e.entry_time, e.thread_id,
           left(coalesce(r.plain, r.text), %(chars)s) AS text,
           coalesce(m.language, 'en') AS language,
           coalesce(m.entities, '[]') AS entities
      FROM entry e
      JOIN revision r ON r.entry_id = e.id AND r.number = e.revision
      LEFT JOIN entry_metadata m
             ON m.entry_id = e.id AND m.tenant = %(tenant)s AND m.revision = e.revision
     WHERE e.tenant = %(tenant)s AND e.deleted_at IS NULL AND e.kind = 'shift_summary'
       AND e.entry_time >= %(since)s AND e.entry_time < %(until)s{rights.SEEN}
     ORDER BY e.entry_time DESC, e.id DESC
     LIMIT %(most)s"""
_TAKEN_UP: LiteralString = f"""
    SELECT a.place::integer
      FROM unnest(%(ids)s::uuid[], %(times)s::timestamptz[], %(threads)s::uuid[],
                  %(queries)s::text[])
           WITH ORDINALITY AS a(entry_id, written, thread_id, query, place)
     WHERE EXISTS (
               SELECT FROM entry e
                WHERE e.tenant = %(tenant)s AND e.deleted_at IS NULL
                  AND e.thread_id = a.thread_id AND e.id <> a.entry_id
                  AND e.entry_time >= a.written
                  AND e.entry_time < %(until)s{rights.SEEN})
        OR EXISTS (
               SELECT FROM entry_text t
                 JOIN entry e ON e.id = t.entry_id AND e.revision = t.revision
                WHERE t.tenant = %(tenant)s AND e.tenant = %(tenant)s
                  AND t.tsv @@ a.query::tsquery AND e.deleted_at IS NULL
                  AND e.id <> a.entry_id AND e.entry_time > a.written
                  AND e.entry_time < %(until)s{rights.SEEN})
     LIMIT 1000"""


@dataclass(frozen=True, slots=True)
class Handover:
    """What one shift wrote for the next, and the things that it names."""

    entry_id: UUID
    entry_time: datetime
    thread_id: UUID | None
    text: str
    language: str
    entities: list[dict[str, Any]]


class CarriedAction(NamedTuple):
    """A sentence of a handover that asks for something."""

    handover: Handover
    quote: str
    # Finds the entries that took it up; empty: only a reply can.
    query: str


def load_actions_left(
    conn: Connection,
    scope: Scope,
    facility: Facility,
    written: tuple[datetime, datetime],
    until: datetime,
) -> list[CarriedAction]:
    """Return requests of handovers of a time that nobody took up, newest first."""
    since, before = written
    values = {**scope.params, "since": since, "until": before}
    values |= {"chars": MAX_CHARS, "most": MOST_HANDOVERS}
    actions = [
        action
        for handover in fetch_all(conn, Handover, _HANDOVERS, values)
        for action in _read_actions(handover, facility)
    ]
    if not actions:
        return []
    handovers = [one.handover for one in actions]
    asked = {
        **scope.params,
        "until": until,
        "ids": [one.entry_id for one in handovers],
        "times": [one.entry_time for one in handovers],
        "threads": [one.thread_id for one in handovers],
        "queries": [one.query for one in actions],
    }
    taken_up = {place for (place,) in conn.execute(_TAKEN_UP, asked)}
    return [one for place, one in enumerate(actions, 1) if place not in taken_up]


def _read_actions(handover: Handover, facility: Facility) -> Iterator[CarriedAction]:
    for start, end in find_actions(handover.text):
        quote = incidents.quoted(handover.text, start, end)
        query = make_query(quote, handover.language, handover.entities, facility)
        yield CarriedAction(handover, quote, query)


def make_query(
    sentence: str,
    language: str,
    entities: Sequence[dict[str, Any]],
    facility: Facility,
) -> str:
    """Return the Postgres query for entries about the work that a sentence asks for."""
    stems = words_of(Sections(text=sentence), language, facility)
    words = [
        quote_lexeme(stem)
        for word, stem in stems.items()
        if word not in _ASKING and not function_words.joins(word, language)
    ]
    words = [*dict.fromkeys(words)]
    things = select_named(sentence, entities)
    if not words:
        return ""
    if things:
        named = [CardThing(DEVICE, one, "", "named").query for one in sorted(things)]
        return f"({' | '.join(named)}) & ({' | '.join(words)})"
    shared = combinations(words[:_MOST_WORDS], min(len(words), _WORDS_SHARED))
    return " | ".join(f"({' & '.join(some)})" for some in shared)
