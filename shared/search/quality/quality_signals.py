"""Signals and alerts of how searches fare, read out of their events.

A fallback answer is one that is not grounded: it asks back, lacks evidence, or cites
whatever was found.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from operator import attrgetter
from typing import Literal, LiteralString

from psycopg import Connection
from psycopg.rows import dict_row

from shared.postgres.fetch_rows import fetch_all

AlertType = Literal["fallback_loop", "abandoned_fallback"]

# Events that show that somebody goes on searching.
_GOES_ON = frozenset({"query", "click", "reformulation", "rescue_action"})
MOST_EVENTS, MOST_ALERTS = 100_000, 100

# A page and its server may both tell of one answer: it counts once.
_COUNTS: LiteralString = """
    SELECT count(*) FILTER (WHERE e.type = 'query') AS queries,
           count(*) FILTER (WHERE e.type = 'zero_result') AS zero_results,
           count(*) FILTER (WHERE e.type = 'reformulation') AS reformulations,
           count(*) FILTER (WHERE e.type = 'rescue_action') AS rescue_actions,
           count(*) FILTER (WHERE e.type = 'answer_frame') AS frames,
           count(*) FILTER (WHERE e.type = 'answer_frame'
                              AND e.details ->> 'status' = 'clarify') AS clarified,
           count(*) FILTER (WHERE e.type = 'answer_frame'
                              AND e.details ->> 'status' = 'insufficient')
               AS insufficient,
           count(*) FILTER (WHERE e.type = 'answer_frame'
                              AND (e.details ->> 'status' <> 'grounded'
                                   OR e.details ->> 'citation_mode' = 'fallback_all'))
               AS fallbacks
      FROM (SELECT DISTINCT ON (v.type, coalesce(v.job_id::text, v.ctid::text
                                                 || v.tableoid::text))
                   v.type, v.details
              FROM search_event v
             WHERE v.tenant = %(tenant)s AND v.at >= %(since)s AND v.at < %(until)s
               AND v.type <> 'click') AS e"""
_OF_SESSIONS: LiteralString = """
    SELECT e.type, e.at, e.query_key, e.session_key,
           e.type = 'answer_frame'
           AND (e.details ->> 'status' <> 'grounded'
                OR e.details ->> 'citation_mode' = 'fallback_all') AS is_fallback,
           coalesce(e.job_id::text, '') AS job
      FROM search_event e
     WHERE e.tenant = %(tenant)s AND e.at >= %(since)s AND e.at < %(until)s
       AND e.session_key IS NOT NULL
     ORDER BY e.at DESC, e.type DESC
     LIMIT %(most)s"""


@dataclass(frozen=True, slots=True)
class SessionEvent:
    """One event of a session, as alerts are read out of it."""

    type: str
    at: datetime
    query_key: str | None
    session_key: str
    is_fallback: bool
    job: str = ""


@dataclass(frozen=True, slots=True)
class QualityAlert:
    """A trouble that people met again and again, by the key of their question."""

    type: AlertType
    query_key: str | None
    count: int
    first_at: datetime
    last_at: datetime


@dataclass(frozen=True, slots=True)
class AlertRules:
    """When a session is over, and how many fallback answers in a row are a loop."""

    inactivity: timedelta = timedelta(seconds=900)
    loop: int = 3


def load_alerts(
    conn: Connection, tenant: str, since: datetime, until: datetime, rules: AlertRules
) -> list[QualityAlert]:
    """Return the alerts of a window, the latest first."""
    values = {"tenant": tenant, "since": since, "until": until, "most": MOST_EVENTS}
    events = fetch_all(conn, SessionEvent, _OF_SESSIONS, values)
    return find_alerts(events, until, rules)


def load_metrics(
    conn: Connection, tenant: str, since: datetime, until: datetime, rules: AlertRules
) -> dict[str, float]:
    """Return the signals of a window; a rate without any event is 0."""
    values = {"tenant": tenant, "since": since, "until": until}
    with conn.cursor(row_factory=dict_row) as cur:
        counts = cur.execute(_COUNTS, values).fetchone()
    assert counts is not None
    alerts = load_alerts(conn, tenant, since, until, rules)
    abandoned = sum(one.count for one in alerts if one.type == "abandoned_fallback")
    return {
        "fallback_answer_rate": _rate(counts["fallbacks"], counts["frames"]),
        "clarify_rate": _rate(counts["clarified"], counts["frames"]),
        "insufficient_rate": _rate(counts["insufficient"], counts["frames"]),
        "reformulation_count": counts["reformulations"],
        "rescue_action_count": counts["rescue_actions"],
        "abandoned_fallback_count": abandoned,
        "zero_result_rate": _rate(counts["zero_results"], counts["queries"]),
        "queries": counts["queries"],
    }


def find_alerts(
    events: Iterable[SessionEvent], now: datetime, rules: AlertRules
) -> list[QualityAlert]:
    """Find the alerts that the events of sessions give rise to, the latest first."""
    found: dict[tuple[AlertType, str | None], list[datetime]] = defaultdict(list)
    order = sorted(events, key=attrgetter("session_key", "at"))
    for _, of_session in groupby(order, key=attrgetter("session_key")):
        for visit in _visits(list(of_session), rules.inactivity):
            for kind, event in _alerts(visit, now, rules):
                found[kind, event.query_key].append(event.at)
    alerts = [
        QualityAlert(kind, key, len(times), min(times), max(times))
        for (kind, key), times in found.items()
    ]
    alerts.sort(key=lambda one: (one.type, one.query_key or ""))
    alerts.sort(key=lambda one: one.last_at, reverse=True)
    return alerts


def _visits(
    events: Sequence[SessionEvent], inactivity: timedelta
) -> Iterator[list[SessionEvent]]:
    """Split a session where nobody did anything for longer than `inactivity`."""
    visit: list[SessionEvent] = []
    for one in events:
        if visit and one.at - visit[-1].at > inactivity:
            yield visit
            visit = []
        visit.append(one)
    yield visit


def _alerts(
    visit: Sequence[SessionEvent], now: datetime, rules: AlertRules
) -> Iterator[tuple[AlertType, SessionEvent]]:
    in_a_row = 0
    told: set[str] = set()
    last: SessionEvent | None = None
    for one in visit:
        if one.type == "answer_frame":
            if one.job and one.job in told:
                continue
            told.add(one.job)
            in_a_row = in_a_row + 1 if one.is_fallback else 0
            last = one if one.is_fallback else None
            if in_a_row == rules.loop:
                # One alert for each row of fallback answers, however long it gets.
                yield "fallback_loop", one
        elif one.type in _GOES_ON:
            last = None
    is_over = now - visit[-1].at > rules.inactivity
    if last is not None and is_over:
        yield "abandoned_fallback", last


def _rate(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0
