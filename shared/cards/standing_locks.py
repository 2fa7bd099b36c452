"""Locks against energy that were applied and, for all that is written, not removed.

What is not sure removes nothing: a lock that is listed too long costs a look.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString, NamedTuple
from uuid import UUID

from psycopg import Connection

from shared.access import rights
from shared.access.scope import Scope
from shared.cards.incident import REPLY
from shared.postgres.fetch_rows import fetch_all
from shared.text.facility.devices import DEVICE
from shared.text.reading import incidents
from shared.text.reading.locks import LockStatement, find_locks

# A lock may hang as long as a repair takes; one that drops off a list is forgotten. By
# the index of words a year costs no more than the entries that tell of locks.
LOCK_DAYS, MOST_READ = 365, 1_000
MAX_CHARS = 10_000
# The words of `locks` in all languages, as the index has them.
_WORDS = (
    "'lock':* | 'unlock':* | 'padlock':* | 'loto':* | 'i:loto' | 'sperr':* | 'gesperrt'"
    " | 'schloss':* | 'freigeschalt':* | ('tag':* <-> 'out') | 'tagout':*"
    " | ('danger' <-> 'tag':*) | ('red' <-> 'tag':*) | ('tag' & ('remov':* | 'clear':*"
    " | 'lift':* | 'releas':* | 'return':* | 'appli':*))"
    " | 'consign':* | 'deconsign':* | 'cadenas':* | 'lucchett':* | 'candad':*"
    " | (('verrou':* | 'blocc':* | 'bloque':*) & ('pos':* | 'mis':* | 'retir':*"
    " | 'enlev':* | 'lev':* | 'appl':* | 'aplic':* | 'mess':* | 'rimoss':* | 'tolt':*"
    " | 'puest':* | 'coloc':* | 'quit':* | 'etiquet':*))"
)
# Those of a shift are read by their text, as are those that are not in the index yet: a
# lock that is not listed because of a backlog is not there either.
TELLING: LiteralString = f"""
    WITH written AS MATERIALIZED (
        SELECT t.entry_id
          FROM entry_text t
         WHERE t.tenant = %(tenant)s AND t.tsv @@ %(words)s::tsquery),
    newest AS (
        SELECT n.id
          FROM written w
         CROSS JOIN LATERAL (
               -- Looked up by its id: a year of entries is not walked through.
               SELECT e.id, e.entry_time
                 FROM entry e
                WHERE e.id = w.entry_id
                  AND e.tenant = %(tenant)s AND e.deleted_at IS NULL
                  AND e.entry_time >= %(since)s
                  AND e.entry_time < %(until)s{rights.SEEN}
               OFFSET 0) AS n
         ORDER BY n.entry_time DESC, n.id DESC
         LIMIT %(most)s),
    telling AS (
        SELECT n.id FROM newest n
        UNION SELECT unnest(%(ids)s::uuid[])
        UNION (SELECT d.entry_id FROM work d
                WHERE d.tenant = %(tenant)s AND d.stage = 'metadata'
                ORDER BY d.entry_id DESC LIMIT %(most)s))
    SELECT e.id AS entry_id, e.entry_time, coalesce(e.thread_id, e.id) AS thread,
           r.title, left(coalesce(r.plain, r.text), %(chars)s) AS text,
           coalesce(m.entities, '[]') AS entities
      FROM telling w
      JOIN entry e ON e.id = w.id
      JOIN revision r ON r.entry_id = e.id AND r.number = e.revision
      LEFT JOIN entry_metadata m
             ON m.entry_id = e.id AND m.tenant = %(tenant)s AND m.revision = e.revision
     WHERE e.tenant = %(tenant)s AND e.deleted_at IS NULL AND e.kind <> 'procedure'
       AND e.entry_time >= %(since)s AND e.entry_time < %(until)s{rights.SEEN}
     ORDER BY e.entry_time DESC, e.id DESC
     LIMIT 3000"""


@dataclass(frozen=True, slots=True)
class LockEntry:
    """An entry that may tell of locks, and the things that it names."""

    entry_id: UUID
    entry_time: datetime
    thread: UUID
    title: str
    text: str
    entities: list[dict[str, Any]]


class StandingLock(NamedTuple):
    """A lock that stands, in the words of the entry that told of it first."""

    entry_id: UUID
    quote: str


@dataclass(slots=True, eq=False)
class _Lock:
    entry: LockEntry
    quote: str
    numbers: set[str]
    # What it locks; of several, what was not unlocked yet.
    devices: set[str]


def load_lock_entries(
    conn: Connection,
    scope: Scope,
    since: datetime,
    until: datetime,
    ids: Sequence[UUID],
) -> list[LockEntry]:
    """Return entries of a time, and some by their ids, that may tell of locks.

    The newest come first.
    """
    values = {**scope.params, "words": _WORDS, "since": since, "until": until}
    values |= {"ids": [*ids], "chars": MAX_CHARS, "most": MOST_READ}
    return fetch_all(conn, LockEntry, TELLING, values, binary=True)


def find_standing(
    entries: Sequence[LockEntry], since: datetime
) -> tuple[list[StandingLock], list[StandingLock]]:
    """Return the locks that stand after these entries, and those that stood before.

    Entries are given newest first, and so are locks; before: when a time began.
    """
    standing: list[_Lock] = []
    stood: list[StandingLock] | None = None
    for entry in reversed(entries):
        if stood is None and entry.entry_time >= since:
            stood = _told(standing)
        for text, said in _statements(entry):
            standing = _after(standing, entry, text, said)
    told = _told(standing)
    return told, told if stood is None else stood


def _after(
    standing: list[_Lock], entry: LockEntry, text: str, said: LockStatement
) -> list[_Lock]:
    """Return the locks that stand after a statement."""
    named = _devices(entry, text[said.start : said.end])
    if said.what == "lock_applied" and not named:
        every = {one["canonical"] for one in entry.entities if one["kind"] == DEVICE}
        # It is not clear which one of several is meant.
        named = every if len(every) == 1 else set()
    if said.what == "lock_removed":
        return _without_removed(standing, entry, said, named)
    quote = incidents.quoted(text, said.start, said.end)
    lock = _same(standing, entry, said, named)
    if lock is None:
        return [*standing, _Lock(entry, quote, {*said.numbers}, named)]
    if lock.entry is entry:
        if said.numbers and not lock.numbers:
            lock.quote = quote
        lock.numbers |= said.numbers
        lock.devices |= named
    return standing


def _told(standing: Sequence[_Lock]) -> list[StandingLock]:
    return [StandingLock(one.entry.entry_id, one.quote) for one in reversed(standing)]


def _statements(entry: LockEntry) -> Iterator[tuple[str, LockStatement]]:
    """Yield what an entry tells of locks; a reply's title repeats what another said."""
    text = incidents.blank_quoted_lines(entry.text)
    titles = [] if REPLY.match(entry.title) else [entry.title]
    for part in (*titles, text):
        for said in find_locks(part):
            yield part, said


def _same(
    standing: Sequence[_Lock], entry: LockEntry, said: LockStatement, named: set[str]
) -> _Lock | None:
    """Return the lock that was told of before, if this is not another one."""
    for lock in standing:
        if lock.numbers & said.numbers:
            return lock
    for lock in reversed(standing):
        is_other = (lock.numbers and said.numbers) or (
            lock.devices and named and not lock.devices & named
        )
        if is_other:
            continue
        if lock.entry is entry:
            return lock
        is_near = lock.entry.thread == entry.thread or lock.devices & named
        if is_near and said.is_again and not said.numbers:
            return lock
    return None


def _without_removed(
    standing: Sequence[_Lock], entry: LockEntry, said: LockStatement, named: set[str]
) -> list[_Lock]:
    """Return the locks that stand after a removal: it must be clear which one it was.

    It is known by its number; else by its thread or its device, where no other lock
    hangs there, or all of them were removed.
    """
    numbered = [one for one in standing if one.numbers & said.numbers]
    if numbered:
        for one in numbered:
            one.numbers -= said.numbers
        return [one for one in standing if one not in numbered or one.numbers]
    near = [
        one
        for one in standing
        if (one.entry.thread == entry.thread or one.devices & named)
        and not (one.devices and named and not one.devices & named)
        and not (one.numbers and said.numbers)
    ]
    if len(near) > 1 and not said.is_all:
        return [*standing]
    for one in near:
        one.devices -= named
    removed = [one for one in near if not (one.devices and named)]
    return [one for one in standing if one not in removed]


def _devices(entry: LockEntry, sentence: str) -> set[str]:
    """Return the devices of a sentence: those it names, else those of its title."""
    named = select_named(sentence, entry.entities)
    return named or select_named(entry.title, entry.entities)


def select_named(text: str, entities: Sequence[dict[str, Any]]) -> set[str]:
    """Return the devices of an entry that a part of its text names."""
    return {
        one["canonical"]
        for one in entities
        if one["kind"] == DEVICE
        and one["name"].lower() in text.lower()
        and re.search(rf"(?<!\w){re.escape(one['name'])}(?!\w)", text, re.IGNORECASE)
    }
