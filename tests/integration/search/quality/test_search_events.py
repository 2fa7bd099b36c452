"""Events are kept by keys and counts, counted once, and dropped by the day."""

import json
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import psycopg
import pytest

from shared.search.quality import (
    event_partitions,
    quality_signals,
    search_events,
)
from shared.search.quality.quality_signals import AlertRules
from shared.search.quality.search_events import EventKeys, SearchEvent

NOW = datetime(2026, 3, 2, 6, tzinfo=UTC)
SINCE, UNTIL = NOW - timedelta(hours=24), NOW + timedelta(seconds=1)
RULES = AlertRules()


def store(conn, *events: SearchEvent, tenant: str = "default") -> None:
    search_events.store_events(conn, tenant, events)


def frame(status: str, minutes: int = 10, **more) -> SearchEvent:
    return SearchEvent(
        "answer_frame",
        NOW - timedelta(minutes=minutes),
        **{"job_id": uuid4(), "details": {"status": status}, **more},
    )


@pytest.mark.requirement("S4-43", "S4-49", "S4-50", "S4-51", "S4-52", "S4-53", "S4-54")
def test_signals_of_a_known_stream_are_known(conn) -> None:
    job = uuid4()
    told_twice = frame("clarify", job_id=job)
    store(
        conn,
        *(SearchEvent("query", NOW - timedelta(minutes=n)) for n in range(10)),
        *(SearchEvent("zero_result", NOW - timedelta(minutes=n)) for n in range(2)),
        *(frame("grounded") for _ in range(4)),
        told_twice,
        told_twice,
        *(frame("insufficient") for _ in range(2)),
        frame("grounded", details={"status": "grounded", "citation_mode": "cited"}),
        SearchEvent("reformulation", NOW, details={}),
        *(SearchEvent("rescue_action", NOW) for _ in range(3)),
        frame("insufficient", minutes=60, session_key="s1"),
        # Of another day, and of another facility.
        frame("insufficient", minutes=60 * 25),
    )
    store(conn, frame("insufficient"), SearchEvent("query", NOW), tenant="elsewhere")
    found = quality_signals.load_metrics(conn, "default", SINCE, UNTIL, RULES)
    assert found == {
        "fallback_answer_rate": round(4 / 9, 4),
        "clarify_rate": round(1 / 9, 4),
        "insufficient_rate": round(3 / 9, 4),
        "reformulation_count": 1,
        "rescue_action_count": 3,
        "abandoned_fallback_count": 1,
        "zero_result_rate": 0.2,
        "queries": 10,
    }
    empty = quality_signals.load_metrics(conn, "nobody", SINCE, UNTIL, RULES)
    assert set(empty.values()) == {0}


@pytest.mark.requirement("S4-44", "S4-45", "S4-46")
def test_no_text_is_kept_and_a_session_has_a_key_for_each_facility(conn) -> None:
    ours, theirs = EventKeys(b"secret", "default"), EventKeys(b"secret", "elsewhere")
    assert ours.of_session("abc") != theirs.of_session("abc")
    assert ours.of_session("abc") != EventKeys(b"other", "default").of_session("abc")
    assert ours.of_query("RF  Trip") == ours.of_query("rf trip") != None  # noqa: E711
    answer = {
        "context_answer": {
            "status": "clarify",
            "code": "unsupported_words",
            "grade": "D",
            "summary": "No entry has zebrafish.",
            "evidence": [{"quote": "the zebrafish pump"}],
            "citations": ["OPS-1"],
            "questions": ["what zebrafish?"],
        },
        "results": [{"title": "zebrafish"}],
        "citation_mode": "none",
        "method_used": "hybrid",
        "degraded": False,
    }
    details = search_events.answer_details(answer)
    assert (details["status"], details["results"]) == ("clarify", 1)
    assert search_events.fits(details)
    store(
        conn,
        SearchEvent(
            "answer_frame", NOW, ours.of_query("zebrafish"), None, None, details
        ),
    )
    rows = conn.execute("SELECT to_jsonb(e)::text FROM search_event e").fetchall()
    assert rows
    assert "zebrafish" not in json.dumps(rows)
    assert not search_events.fits({"a": "x" * 1024})
    with pytest.raises(psycopg.errors.CheckViolation):
        store(conn, SearchEvent("click", NOW, details={"a": "x" * 2000}))


def test_partitions_are_made_ahead_and_dropped_whole(conn) -> None:
    day = int(NOW.timestamp() // 86_400)
    event_partitions.rotate_event_partitions(conn, retention_days=2, day=day)
    store(conn, SearchEvent("query", NOW))
    kept = conn.execute("SELECT tableoid::regclass::text FROM search_event").fetchone()
    assert kept == (f"search_event_d{day}",)
    event_partitions.rotate_event_partitions(conn, retention_days=2, day=day + 2)
    assert conn.execute("SELECT count(*) FROM search_event").fetchone() == (1,)
    event_partitions.rotate_event_partitions(conn, retention_days=2, day=day + 3)
    assert conn.execute("SELECT count(*) FROM search_event").fetchone() == (0,)


def test_what_came_before_its_partition_is_forgotten_all_the_same(conn) -> None:
    day = int(NOW.timestamp() // 86_400)
    store(conn, SearchEvent("query", NOW))
    event_partitions.rotate_event_partitions(conn, retention_days=2, day=day)
    assert conn.execute("SELECT count(*) FROM search_event").fetchone() == (1,)
    event_partitions.rotate_event_partitions(conn, retention_days=2, day=day + 3)
    assert conn.execute("SELECT count(*) FROM search_event").fetchone() == (0,)
