"""Alerts as rows: an entry once for each saved search, a thread once if so wanted."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString
from uuid import UUID

from psycopg import Connection

from shared.access import rights
from shared.access.scope import Scope
from shared.ids import uuid7
from shared.postgres.fetch_rows import fetch_all, fetch_value
from shared.watch.saved_searches import SavedSearch

MOST_ATTEMPTS = 8
# Longer than a mail may take; a sender that is gone loses its alerts after it.
LEASE_SECONDS = 30.0
BACKOFF_SECONDS = 15.0

# Whoever fires alerts of a saved search does so alone: of two entries of a thread that
# come at once one is told. It also sees whether the search is still there, and on.
_LOCK: LiteralString = """
    SELECT alerts_since FROM saved_search
     WHERE tenant = %(tenant)s AND id = %(saved_id)s AND alerts_since IS NOT NULL
       FOR NO KEY UPDATE"""
# The oldest of a thread is told, unless one of the thread was told before. What was
# told already may now be found in another way, too.
_FIRE: LiteralString = """
    WITH matched AS MATERIALIZED (
        SELECT m.alert_id, m.matched_by, e.id, e.thread_id, e.entry_time
          FROM jsonb_to_recordset(%(matches)s::jsonb)
               AS m (alert_id uuid, entry_id uuid, matched_by text[])
          JOIN entry e ON e.id = m.entry_id
         WHERE e.tenant = %(tenant)s AND e.entry_time >= %(since)s),
    fresh AS (
        SELECT DISTINCT ON (CASE WHEN %(by_thread)s THEN coalesce(m.thread_id, m.id)
                                 ELSE m.id END)
               m.alert_id, m.id, m.matched_by
          FROM matched m
         WHERE NOT EXISTS (
               SELECT FROM alert a
                WHERE a.saved_search_id = %(saved_id)s AND a.tenant = %(tenant)s
                  AND a.entry_id = m.id)
           AND NOT (%(by_thread)s AND EXISTS (
               SELECT FROM entry o
                 JOIN alert a ON a.entry_id = o.id
                             AND a.saved_search_id = %(saved_id)s
                             AND a.tenant = %(tenant)s
                WHERE o.tenant = %(tenant)s AND o.thread_id = m.thread_id))
         ORDER BY CASE WHEN %(by_thread)s THEN coalesce(m.thread_id, m.id)
                       ELSE m.id END, m.entry_time, m.id),
    again AS (
        UPDATE alert a
           SET matched_by = (SELECT array_agg(DISTINCT way ORDER BY way)
                               FROM unnest(a.matched_by || m.matched_by) AS way)
          FROM matched m
         WHERE a.tenant = %(tenant)s AND a.saved_search_id = %(saved_id)s
           AND a.entry_id = m.id AND NOT a.matched_by @> m.matched_by)
    INSERT INTO alert (id, tenant, saved_search_id, entry_id, matched_by, due_at)
    SELECT alert_id, %(tenant)s, %(saved_id)s, id, matched_by, %(due_at)s::timestamptz
      FROM fresh
        ON CONFLICT (saved_search_id, entry_id) DO NOTHING
    RETURNING id"""
# Asked every second.
_ARE_DUE: LiteralString = """
    SELECT EXISTS (
        SELECT FROM alert
         WHERE due_at <= clock_timestamp()
           AND (leased_until IS NULL OR leased_until <= clock_timestamp()))"""
# All of one saved search that are due, for they may go together.
_CLAIM: LiteralString = """
    WITH first AS MATERIALIZED (
        SELECT a.saved_search_id, s.alert ->> 'digest' = 'none' AS is_single
          FROM alert a
          JOIN saved_search s ON s.id = a.saved_search_id AND s.tenant = a.tenant
         WHERE a.due_at <= clock_timestamp()
           AND (a.leased_until IS NULL OR a.leased_until <= clock_timestamp())
         ORDER BY a.due_at
         LIMIT 1
           FOR UPDATE OF a SKIP LOCKED),
    due AS (
        SELECT a.id FROM alert a JOIN first f USING (saved_search_id)
         WHERE a.due_at <= clock_timestamp()
           AND (a.leased_until IS NULL OR a.leased_until <= clock_timestamp())
         ORDER BY a.id
         LIMIT (SELECT CASE WHEN is_single THEN 1 ELSE %(most)s END FROM first)
           FOR UPDATE OF a SKIP LOCKED)
    UPDATE alert a
       SET leased_until = clock_timestamp() + make_interval(secs => %(lease)s),
           attempts = a.attempts + 1
      FROM due
     WHERE a.id = due.id
    RETURNING a.id, a.tenant, a.saved_search_id, a.entry_id, a.at, a.matched_by,
              a.attempts, a.delivered_at, a.last_error"""
_DELIVERED: LiteralString = """
    UPDATE alert
       SET due_at = NULL, leased_until = NULL, last_error = NULL,
           delivered_at = clock_timestamp()
     WHERE tenant = %(tenant)s AND id = ANY (%(ids)s)"""
_FAILED: LiteralString = """
    UPDATE alert
       SET leased_until = NULL, last_error = %(error)s,
           due_at = CASE WHEN attempts < %(most)s
                         THEN clock_timestamp() + make_interval(secs => %(wait)s) END
     WHERE tenant = %(tenant)s AND id = ANY (%(ids)s)"""
# Whatever else of this saved search is due would fail likewise: it waits as long.
_REST: LiteralString = """
    UPDATE alert SET due_at = clock_timestamp() + make_interval(secs => %(wait)s)
     WHERE tenant = %(tenant)s AND saved_search_id = %(saved_id)s
       AND due_at <= clock_timestamp() AND leased_until IS NULL"""
# So does what else would be sent in the same quiet hours.
_POSTPONE: LiteralString = """
    UPDATE alert
       SET due_at = %(until)s, leased_until = NULL,
           attempts = attempts - (id = ANY (%(ids)s))::int
     WHERE tenant = %(tenant)s AND saved_search_id = %(saved_id)s
       AND due_at < %(until)s
       AND (id = ANY (%(ids)s) OR leased_until IS NULL)"""
_GIVE_UP: LiteralString = """
    UPDATE alert
       SET due_at = NULL, leased_until = NULL, last_error = %(error)s,
           attempts = least(attempts, %(most)s)
     WHERE tenant = %(tenant)s AND id = ANY (%(ids)s)"""
_FORGET: LiteralString = """
    DELETE FROM alert WHERE tenant = %(tenant)s AND id = ANY (%(ids)s)"""
_PAGE: LiteralString = f"""
    SELECT a.id, a.tenant, a.saved_search_id, a.entry_id, a.at, a.matched_by,
           a.attempts, a.delivered_at, a.last_error
      FROM alert a JOIN entry e ON e.id = a.entry_id
     WHERE a.tenant = %(tenant)s AND e.tenant = %(tenant)s AND e.deleted_at IS NULL
       AND a.saved_search_id = %(saved_id)s{rights.SEEN}
       AND (%(after)s::uuid IS NULL OR a.id < %(after)s)
     ORDER BY a.id DESC
     LIMIT %(limit)s"""


@dataclass(frozen=True, slots=True)
class AlertRow:
    """One alert: the entry that a saved search has found, and whether it was sent."""

    id: UUID
    tenant: str
    saved_search_id: UUID
    entry_id: UUID
    at: datetime
    matched_by: list[str]
    attempts: int
    delivered_at: datetime | None
    last_error: str | None


def fire(
    conn: Connection,
    saved: SavedSearch,
    matches: Mapping[UUID, Sequence[str]],
    due_at: datetime | None,
) -> list[UUID]:
    """Store the alerts that these matches give rise to; twice equals once."""
    if not matches:
        return []
    key = {"tenant": saved.tenant, "saved_id": saved.id}
    since = fetch_value(conn, _LOCK, key)
    if since is None:
        return []
    listed = [
        {"alert_id": str(uuid7()), "entry_id": str(one), "matched_by": [*ways]}
        for one, ways in sorted(matches.items())
    ]
    given = {
        **key,
        "matches": json.dumps(listed),
        "since": since,
        "by_thread": saved.rule.one_per_thread,
        "due_at": due_at,
    }
    return [found for (found,) in conn.execute(_FIRE, given)]


def are_due(conn: Connection) -> bool:
    """Tell whether alerts are to be sent that nobody is sending."""
    return bool(fetch_value(conn, _ARE_DUE))


def claim(conn: Connection, most: int) -> list[AlertRow]:
    """Take due alerts of one saved search: one, or those of a digest; then commit."""
    given = {"most": most, "lease": LEASE_SECONDS}
    return sorted(fetch_all(conn, AlertRow, _CLAIM, given), key=lambda row: row.id)


def note_delivered(conn: Connection, alerts: Sequence[AlertRow]) -> None:
    """Store that these were sent."""
    conn.execute(_DELIVERED, _of(alerts))


def note_failed(conn: Connection, alerts: Sequence[AlertRow], error: str) -> None:
    """Have these sent again later, eight times in all; others of the search wait."""
    wait = BACKOFF_SECONDS * 2 ** alerts[0].attempts
    given = {**_of(alerts), "error": error[:500], "wait": wait}
    conn.execute(_FAILED, {**given, "most": MOST_ATTEMPTS})
    conn.execute(_REST, {**given, "saved_id": alerts[0].saved_search_id})


def postpone(conn: Connection, alerts: Sequence[AlertRow], until: datetime) -> None:
    """Have these, and others of their search, sent then: that was no attempt."""
    saved_id = alerts[0].saved_search_id
    conn.execute(_POSTPONE, {**_of(alerts), "saved_id": saved_id, "until": until})


def give_up(conn: Connection, alerts: Sequence[AlertRow], why: str) -> None:
    """Have these sent no more; they stay in the list."""
    given = {**_of(alerts), "error": why, "most": MOST_ATTEMPTS}
    conn.execute(_GIVE_UP, given)


def forget(conn: Connection, alerts: Sequence[AlertRow]) -> None:
    """Remove alerts of entries that their owner may not see any more."""
    if alerts:
        conn.execute(_FORGET, _of(alerts))


def page(
    conn: Connection,
    scope: Scope,
    saved_id: UUID,
    *,
    limit: int,
    after: UUID | None = None,
) -> list[AlertRow]:
    """Return the alerts of a saved search, newest first, of what its owner may see."""
    given = {**scope.params, "saved_id": saved_id, "limit": limit, "after": after}
    return fetch_all(conn, AlertRow, _PAGE, given)


def _of(alerts: Sequence[AlertRow]) -> dict[str, Any]:
    return {"tenant": alerts[0].tenant, "ids": sorted(one.id for one in alerts)}
