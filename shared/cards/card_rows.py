"""What cards are made of, read in one go: only what the caller may see."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString
from uuid import UUID

from psycopg import Connection

from shared.access import rights
from shared.access.scope import Scope
from shared.cards.card_things import CardThing
from shared.postgres.fetch_rows import fetch_all
from shared.postgres.pool import format_array

# So many entries of a thing are counted, and so many of the newest are read.
MOST_COUNTED, MOST_READ, MOST_OF_THREAD = 1000, 40, 60
# So long is the text of one, and so long are those together that a card is read of.
MAX_CHARS, MAX_CHARS_IN_ALL = 4_000, 20_000
MOST_VALUES = 5

_NAMED: LiteralString = f"""
    SELECT m.entry_id, m.entities
      FROM entry_metadata m
      JOIN entry e ON e.id = m.entry_id AND e.revision = m.revision
     WHERE m.tenant = %(tenant)s AND e.tenant = %(tenant)s AND e.deleted_at IS NULL
       AND m.entry_id = ANY (%(ids)s::uuid[]){rights.SEEN}
     LIMIT 100"""
# A reply tells of what its thread is about, and need not name it again. By the index of
# words first: left to join as it likes, the database walks back through time instead.
OF_THING: LiteralString = f"""
    WITH written AS MATERIALIZED (
        SELECT t.entry_id, t.revision
          FROM entry_text t
         WHERE t.tenant = %(tenant)s AND t.tsv @@ %(query)s::tsquery),
    naming AS MATERIALIZED (
        SELECT e.id, e.entry_time, e.thread_id, e.kind
          FROM written t
          JOIN entry e ON e.id = t.entry_id AND e.revision = t.revision
         WHERE e.tenant = %(tenant)s AND e.deleted_at IS NULL{rights.SEEN}
         ORDER BY e.entry_time DESC, e.id DESC
         LIMIT %(most_counted)s),
    newest AS (
        SELECT n.id, n.thread_id FROM naming n
         ORDER BY n.entry_time DESC, n.id DESC LIMIT %(most_read)s),
    replies AS (
        SELECT e.id
          FROM entry e
         WHERE e.tenant = %(tenant)s AND e.deleted_at IS NULL{rights.SEEN}
           AND e.thread_id IN (SELECT w.thread_id FROM newest w)
         ORDER BY e.entry_time DESC, e.id DESC
         LIMIT %(most_read)s),
    counted AS (
        SELECT (SELECT count(*) FROM naming) AS entries,
               (SELECT min(n.entry_time) FROM naming n) AS first_time,
               (SELECT json_object_agg(k.kind, k.entries)
                  FROM (SELECT n.kind, count(*) AS entries FROM naming n
                         GROUP BY n.kind) AS k) AS kinds,
               (SELECT json_object_agg(b.month, b.entries ORDER BY b.month)
                  FROM (SELECT to_char(n.entry_time AT TIME ZONE %(zone)s, 'YYYY-MM')
                               AS month, count(*) AS entries
                          FROM naming n GROUP BY month
                         ORDER BY month DESC LIMIT 12) AS b) AS months)
    SELECT e.id AS entry_id, e.source, e.external_id, e.revision, e.entry_time,
           e.event_time, e.thread_id, r.title, e.kind,
           left(coalesce(r.plain, r.text), %(chars)s) AS text,
           EXISTS (SELECT FROM naming n WHERE n.id = e.id) AS is_naming,
           coalesce(m.entities, '[]') AS entities,
           c.entries, c.first_time, c.kinds, c.months
      FROM (SELECT w.id FROM newest w UNION SELECT o.id FROM replies o) AS read
      JOIN entry e ON e.id = read.id AND e.tenant = %(tenant)s
      JOIN revision r ON r.entry_id = e.id AND r.number = e.revision
      LEFT JOIN entry_metadata m
             ON m.entry_id = e.id AND m.tenant = %(tenant)s AND m.revision = e.revision
     CROSS JOIN counted c
     ORDER BY e.entry_time DESC, e.id DESC
     LIMIT 100"""
_OF_THREAD: LiteralString = f"""
    SELECT e.id AS entry_id, e.source, e.external_id, e.revision, e.entry_time,
           e.event_time, e.thread_id, r.title, e.kind,
           left(coalesce(r.plain, r.text), %(chars)s) AS text,
           true AS is_naming, '[]'::jsonb AS entities,
           count(*) OVER () AS entries, min(e.entry_time) OVER () AS first_time,
           NULL::json AS kinds, NULL::json AS months
      FROM entry e
      JOIN revision r ON r.entry_id = e.id AND r.number = e.revision
     WHERE e.tenant = %(tenant)s AND e.deleted_at IS NULL
       AND {rights.in_threads("e", "%(threads)s")}{rights.SEEN}
     ORDER BY e.entry_time DESC, e.id DESC
     LIMIT %(most)s"""
# The newest of each parameter that stands in a newest revision; by now, as elsewhere.
# Its unit is that of the text.
_VALUES: LiteralString = f"""
    WITH newest AS (
        SELECT DISTINCT ON (q.parameter, q.dimension)
               q.parameter, q.dimension, q.value, q.said_at, e.id, e.source,
               e.external_id, e.revision
          FROM entry_quantity q
          JOIN entry e ON e.id = q.entry_id
          JOIN entry_metadata m ON m.entry_id = e.id AND m.revision = e.revision
         WHERE q.tenant = %(tenant)s AND m.tenant = %(tenant)s
           AND e.tenant = %(tenant)s AND q.device = ANY (%(devices)s::text[])
           AND q.said_at <= now() AND e.deleted_at IS NULL{rights.SEEN}
         ORDER BY q.parameter, q.dimension, q.said_at DESC, q.entry_id DESC,
                  q.place DESC
         LIMIT 100),
    told AS (
        SELECT n.parameter, n.dimension, n.value, n.said_at, n.id, n.source,
               n.external_id, n.revision
          FROM newest n
         ORDER BY n.said_at DESC, n.parameter COLLATE "C" DESC LIMIT %(most)s)
    SELECT v.parameter, v.dimension, v.value, v.said_at, v.id AS entry_id, v.source,
           v.external_id, v.revision, coalesce(t.language, '') AS language,
           left(coalesce(r.plain, r.text), %(chars)s) AS text
      FROM told v
      JOIN revision r ON r.entry_id = v.id AND r.number = v.revision
      LEFT JOIN entry_text t
             ON t.entry_id = v.id AND t.tenant = %(tenant)s AND t.revision = v.revision
     ORDER BY v.said_at DESC, v.parameter COLLATE "C" DESC
     LIMIT 100"""


@dataclass(frozen=True, slots=True)
class CardEntry:
    """An entry of a card, with counts over all entries of its thing."""

    entry_id: UUID
    source: str
    external_id: str
    revision: int
    entry_time: datetime
    event_time: datetime | None
    thread_id: UUID | None
    title: str
    text: str
    kind: str
    # Whether it names the thing itself, and is no reply to what does.
    is_naming: bool
    entities: list[dict[str, Any]]
    # How many entries name the thing, up to MOST_COUNTED.
    entries: int
    first_time: datetime
    kinds: dict[str, int] | None
    months: dict[str, int] | None


@dataclass(frozen=True, slots=True)
class CardValue:
    """The newest value of one parameter of a device."""

    parameter: str
    dimension: str
    value: float
    said_at: datetime
    entry_id: UUID
    source: str
    external_id: str
    revision: int
    # The entry's text, and the language that it was read in.
    text: str
    language: str


def within_bounds(entries: Sequence[CardEntry]) -> Iterator[CardEntry]:
    """Yield the first entries, of which all texts together are not too long to read."""
    left = MAX_CHARS_IN_ALL
    for one in entries:
        left -= len(one.title) + len(one.text)
        if left < 0:
            return
        yield one


def load_named(
    conn: Connection[Any], scope: Scope, ids: Sequence[UUID]
) -> dict[UUID, list[dict[str, Any]]]:
    """Return the things that entries name, by entry id; empty for those without any."""
    values = {**scope.params, "ids": format_array(ids)}
    found = dict(conn.execute(_NAMED, values, prepare=True).fetchall())
    return {one: found.get(one, []) for one in ids}


def load_thing_entries(
    conn: Connection, scope: Scope, thing: CardThing, zone: str
) -> list[CardEntry]:
    """Return the newest entries that name a thing, and those of their threads."""
    values = {
        **scope.params,
        "query": thing.query,
        "zone": zone,
        "chars": MAX_CHARS,
        "most_counted": MOST_COUNTED,
        "most_read": MOST_READ,
    }
    return fetch_all(conn, CardEntry, OF_THING, values, prepare=True)


def load_thread_entries(
    conn: Connection, scope: Scope, thread: UUID
) -> list[CardEntry]:
    """Return the newest entries of a thread, newest first."""
    values = {
        **scope.params,
        "threads": [thread],
        "chars": MAX_CHARS,
        "most": MOST_OF_THREAD,
    }
    return fetch_all(conn, CardEntry, _OF_THREAD, values, prepare=True)


def load_values(
    conn: Connection, scope: Scope, devices: Sequence[str]
) -> list[CardValue]:
    """Return the newest values of a device, the latest first."""
    values = {
        **scope.params,
        "devices": list(devices),
        "most": MOST_VALUES,
        "chars": MAX_CHARS,
    }
    return fetch_all(conn, CardValue, _VALUES, values, prepare=True)
