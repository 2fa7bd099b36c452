"""What a thread tells of an incident: its steps with their times, and how things stand.

It is read when it is asked for, from what the caller may see and nothing else.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString, NamedTuple
from uuid import UUID

from psycopg import Connection

from shared.access import rights
from shared.access.scope import Scope
from shared.postgres.fetch_rows import fetch_all
from shared.text.facility.incident_words import Own, State, Step
from shared.text.reading import incidents
from shared.text.reading.incidents import Statement, TimeFrom

# A longer thread is read by its newest entries, and a longer text by its beginning:
# in all no more than can be read in a second.
MAX_ENTRIES, MAX_CHARS, MAX_CHARS_IN_ALL, MAX_STEPS = 300, 4_000, 200_000, 500
# So many of the newest entries say how threads stand that are read together.
MAX_ENTRIES_OF_THREADS = 1_000

REPLY = re.compile(r"(?:\s{0,9}(?:re|aw|fwd?|wg|antw)\s?:){1,99}\s*", re.IGNORECASE)

# A thread is called by the id of an entry, which may stand alone.
_READ: LiteralString = f"""
    SELECT e.id AS entry_id, e.source, e.entry_time, e.event_time, r.title,
           coalesce({rights.THREAD}, e.id) AS thread,
           left(coalesce(r.plain, r.text), %(chars)s) AS text,
           char_length(coalesce(r.plain, r.text)) > %(chars)s AS is_cut
      FROM entry e
      JOIN revision r ON r.entry_id = e.id AND r.number = e.revision
     WHERE e.tenant = %(tenant)s AND e.deleted_at IS NULL{rights.SEEN}
       AND (e.id = ANY (%(threads)s::uuid[])
            OR {rights.in_threads("e", "%(threads)s")})
     ORDER BY e.entry_time DESC, e.id DESC
     LIMIT %(most)s"""


@dataclass(frozen=True, slots=True)
class IncidentEntry:
    """An entry as it is read for its steps: its text without marks."""

    entry_id: UUID
    source: str
    entry_time: datetime
    event_time: datetime | None
    title: str
    text: str
    is_cut: bool = False
    # Its own id, if it stands alone.
    thread: UUID | None = None


class IncidentStep(NamedTuple):
    """One step of an incident, in the words of an entry."""

    time: datetime
    step: Step
    entry_id: UUID
    quote: str
    time_from: TimeFrom


class Incident(NamedTuple):
    """The steps of an incident, oldest first, and its state."""

    state: State
    timeline: list[IncidentStep]
    # False: there is more than was read.
    is_complete: bool


def of_thread(
    conn: Connection,
    scope: Scope,
    thread: UUID,
    zone_of: Callable[[str], str],
    own: Own = (),
) -> Incident:
    """Return the incident of a thread, or of an entry that stands alone.

    `zone_of` says on which clock the texts of a source are written.
    """
    rows = _load(conn, scope, [thread], MAX_ENTRIES + 1)
    kept = [*_within_bounds(rows)]
    found = build_incident(kept[::-1], zone_of, own)
    return found._replace(is_complete=found.is_complete and len(kept) == len(rows))


def load_states(
    conn: Connection,
    scope: Scope,
    threads: Sequence[UUID],
    moments: Sequence[datetime],
    zone_of: Callable[[str], str],
    own: Own = (),
) -> dict[UUID, list[State]]:
    """Return how threads stood before each of some moments, read in one statement.

    A thread is called by its id, or by that of the entry that stands alone.
    """
    rows = _load(conn, scope, threads, MAX_ENTRIES_OF_THREADS)
    of_thread: dict[UUID | None, list[IncidentEntry]] = {}
    for row in rows:
        of_thread.setdefault(row.thread, []).append(row)
    states: dict[UUID, list[State]] = {}
    for thread in threads:
        kept = [*_within_bounds(of_thread.get(thread, []))][::-1]
        stood: dict[int, State] = {}
        for moment in moments:
            until = sum(one.entry_time < moment for one in kept)
            if until not in stood:
                stood[until] = build_incident(kept[:until], zone_of, own).state
            states.setdefault(thread, []).append(stood[until])
    return states


def _load(
    conn: Connection, scope: Scope, threads: Sequence[UUID], most: int
) -> list[IncidentEntry]:
    values = {**scope.params, "threads": [*threads], "chars": MAX_CHARS, "most": most}
    return fetch_all(conn, IncidentEntry, _READ, values)


def build_incident(
    entries: Sequence[IncidentEntry], zone_of: Callable[[str], str], own: Own = ()
) -> Incident:
    """Return the steps of these entries, oldest first; the newest state holds."""
    state: State = "unknown"
    steps: list[IncidentStep] = []
    titles: set[str] = set()
    for entry in entries:
        zone = zone_of(entry.source)
        text = incidents.blank_quoted_lines(entry.text)
        said = incidents.find_statements(text, entry.entry_time, zone, own)
        headed = _headed(entry, titles, zone, own, {one.step for one in said})
        titles.add(_bare(entry.title))
        state = incidents.state(said) or incidents.state(headed) or state
        own_steps = [_step(entry, entry.title, one) for one in headed]
        own_steps += [_step(entry, entry.text, one) for one in said]
        steps += own_steps or _noted(entry)
    # The sort is stable: steps of one time stay in the order in which they were told.
    steps.sort(key=lambda one: one.time)
    is_complete = len(steps) <= MAX_STEPS and not any(one.is_cut for one in entries)
    return Incident(state, steps[-MAX_STEPS:], is_complete)


def _within_bounds(rows: Sequence[IncidentEntry]) -> Iterator[IncidentEntry]:
    left = MAX_CHARS_IN_ALL
    for row in rows[:MAX_ENTRIES]:
        left -= len(row.text) + len(row.title)
        if left < 0:
            return
        yield row


def _headed(
    entry: IncidentEntry, known: set[str], zone: str, own: Own, told: set[Step]
) -> list[Statement]:
    """Return the statements of a title that the text lacks; none of a reply's title."""
    if _bare(entry.title) in known or REPLY.match(entry.title):
        return []
    said = incidents.find_statements(entry.title, entry.entry_time, zone, own)
    return [one for one in said if one.kind and one.step not in told]


def _bare(title: str) -> str:
    start = reply.end() if (reply := REPLY.match(title)) else 0
    return title[start:].strip().casefold()


def _step(entry: IncidentEntry, text: str, one: Statement) -> IncidentStep:
    at = one.at
    if one.step == "trip" and one.time_from == "entry" and entry.event_time:
        # Its source knows when it happened.
        at = entry.event_time
    quote = incidents.quoted(text, one.start, one.end)
    return IncidentStep(at, one.step, entry.entry_id, quote, one.time_from)


def _noted(entry: IncidentEntry) -> Iterator[IncidentStep]:
    """Yield the beginning of an entry without steps: it is part of the thread."""
    for text in (incidents.blank_quoted_lines(entry.text), entry.title):
        for start, end in incidents.sentences(text):
            quote = incidents.quoted(text, start, end)
            yield IncidentStep(entry.entry_time, "note", entry.entry_id, quote, "entry")
            return
