"""Each state that is wrong has its sentence: what it is, and the command to type."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from shared.ids import uuid7
from shared.work import diagnosis
from shared.work.chore_records import Maintenance
from shared.work.diagnosis import SystemState
from shared.work.lag import StageLag
from shared.work.live_processes import Process
from shared.work.stage_pauses import BUDGET_SPENT, Pause
from shared.work.upkeep_loops import LoopState

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)


def stage(name: str = "index", **fields: Any) -> StageLag:
    given: dict[str, Any] = {
        "stage": name,
        "due": 0,
        "bulk": 0,
        "overdue": 0,
        "leased": 0,
        "quarantined": 0,
        "oldest_seconds": 0.0,
        "per_minute": 0,
        "watermark": NOW,
        "paused": None,
    }
    return StageLag(**{**given, **fields})


def process(kind: str, *queues: str, age: float = 600, silent: float = 0) -> Process:
    return Process(
        id=uuid7(),
        kind=kind,
        queues=list(queues),
        pid=4711,
        host="here",
        version="0",
        since=NOW - timedelta(seconds=age),
        seen_at=NOW - timedelta(seconds=silent),
        stale=silent > 15,
    )


def pause(code: str, *, until: datetime | None = NOW, error: str = "x") -> Pause:
    return Pause("index", code, 3, NOW, until, {"code": error})


def chore(**fields: Any) -> Maintenance:
    given: dict[str, Any] = {
        "id": uuid7(),
        "kind": "expire",
        "state": "queued",
        "cursor": None,
        "done": 0,
        "total": None,
        "attempts": 0,
        "strikes": 0,
        "due_at": NOW,
        "error": None,
        "result": None,
        "created_at": NOW - timedelta(seconds=60),
        "started_at": None,
        "ended_at": None,
        "heartbeat": None,
    }
    return Maintenance(**{**given, **fields})


def troubled(code: str, quiet: float = 3) -> LoopState:
    return LoopState("index", None, quiet, {"code": code}, NOW)


UPKEEP = process("upkeep")
INDEXER = process("enhance", "enhance.metadata", "index")


def seen(*stages: StageLag, **fields: Any) -> SystemState:
    given: dict[str, Any] = {
        "stages": stages,
        "processes": [UPKEEP, INDEXER],
        "loops": [],
        "as_of": NOW,
    }
    return SystemState(**{**given, **fields})


# A state, and words that its one sentence must have: what is wrong, what to do.
STATES: dict[str, tuple[SystemState, tuple[str, ...]]] = {
    "paused for an outage": (
        seen(stage(paused=pause("opensearch_unavailable"), overdue=9)),
        (
            "'index' rests since 2026-03-02 12:00 UTC because",
            "OpenSearch",
            "failed 3 times",
        ),
    ),
    "an outage on a facility's own clocks": (
        seen(stage(paused=pause("opensearch_unavailable")), zone="Europe/Zurich"),
        ("'index' rests since 2026-03-02 13:00 CET (12:00 UTC) because",),
    ),
    "a server that a loop does not reach, on a facility's own clocks": (
        seen(loops=[troubled("opensearch_unavailable")], zone="America/Chicago"),
        ("since 2026-03-02 06:00 CST (12:00 UTC). Words",),
    ),
    "nothing is lost by an outage": (
        seen(stage(paused=pause("embedding_unavailable"))),
        ("embedding model", "Nothing is lost", "by itself", "`logchord doctor`"),
    ),
    "an outage of something without a name": (
        seen(stage(paused=pause("odd"))),
        ("a part it needs (odd)",),
    ),
    "paused by its budget": (
        seen(stage(paused=pause(BUDGET_SPENT, until=None, error="internal_error"))),
        (
            "paused since",
            "internal_error",
            "`logchord quarantine list --stage index`",
            "`logchord quarantine retry --stage index`",
        ),
    ),
    "overdue without a worker": (
        seen(stage("embed:m", overdue=2)),
        (
            "2 entries wait",
            "no worker of the queue enhance.embed",
            "`logchord serve worker enhance.embed`",
        ),
    ),
    "overdue beside a worker": (
        seen(stage(overdue=1, oldest_seconds=31)),
        ("1 entry waits", "index has 1 worker alive", "`logchord logs enhance`"),
    ),
    "a stage whose package is gone": (
        seen(
            stage("alarms", due=2, overdue=2, paused=pause("configuration_invalid")),
            not_run=frozenset({"alarms"}),
        ),
        ("2 entries wait", "'alarms'", "cannot be run here", "fill no backlog"),
    ),
    "quarantined entries": (
        seen(stage("embed:m", quarantined=1)),
        (
            "1 entry was quarantined by the stage 'embed:m'",
            "`logchord quarantine list --stage embed:m`",
            "`logchord quarantine retry --stage embed:m`",
        ),
    ),
    "quarantined messages": (
        seen(stage("message:index", quarantined=2)),
        ("2 messages on the queue index", "`logchord quarantine discard ID --reason"),
    ),
    "no upkeep": (
        seen(processes=[INDEXER], loops=[LoopState("sweeper", None, 99)]),
        ("No upkeep is alive", "`logchord serve upkeep`"),
    ),
    "a silent upkeep": (
        seen(processes=[process("upkeep", silent=16)]),
        ("No upkeep is alive", "`logchord serve upkeep`"),
    ),
    "a loop that hangs": (
        seen(loops=[LoopState("sweeper", "here 12", 31)]),
        ("'sweeper'", "31 s", "held by here 12", "`logchord logs upkeep`"),
    ),
    "a loop that nobody turns any more": (
        seen(loops=[LoopState("finisher", None, 45)]),
        ("'finisher'", "held by nobody"),
    ),
    "a server that upkeep does not reach, with no work due": (
        seen(loops=[troubled("opensearch_unavailable")]),
        ("OpenSearch has not answered", "'index'", "`degraded`", "`logchord doctor`"),
    ),
    "a server that a stage rests for": (
        seen(
            stage(paused=pause("opensearch_unavailable")),
            loops=[troubled("opensearch_unavailable")],
        ),
        ("rests since", "OpenSearch"),
    ),
    "a silent worker": (
        seen(processes=[UPKEEP, process("embed", "enhance.embed", silent=20)]),
        (
            "embed worker 4711 on here",
            "15 s",
            "`logchord logs embed`",
            "`logchord serve worker enhance.embed`",
        ),
    ),
    "a full backlog": (
        seen(full_at=1000),
        ("max_backlog_entries allows (1000)", "429", "`logchord serve worker QUEUES`"),
    ),
    "a chore that nobody does": (
        seen(chores=[chore()]),
        ("'expire' waits", "`logchord serve worker chores`"),
    ),
    "a chore that fails": (
        seen(
            processes=[UPKEEP, process("chores", "chores")],
            chores=[chore(strikes=2, error={"code": "internal_error"})],
        ),
        ("'expire' failed 2 times", "internal_error", "`logchord logs chores`"),
    ),
}


@pytest.mark.parametrize("state", STATES)
def test_a_state_that_is_wrong_has_one_sentence_that_says_what_to_do(state: str):
    found, words = STATES[state]

    (sentence,) = diagnosis.describe_problems(found)

    for word in words:
        assert word in sentence
    assert sentence.endswith(".")


WELL: dict[str, SystemState] = {
    "nothing to do": seen(stage()),
    "a backlog that is being worked off": seen(
        stage(overdue=1000, bulk=1000, oldest_seconds=900, per_minute=50)
    ),
    "work that waits a little for its turn": seen(stage(overdue=5, oldest_seconds=12)),
    "a loop that turns rarely": seen(loops=[LoopState("retention", "here 1", 100)]),
    "a loop that was switched off before this upkeep began": seen(
        loops=[LoopState("index", None, 4000)]
    ),
    "a loop before its first turn": seen(loops=[LoopState("sweeper", "here 1", None)]),
    "what a loop met that turns no more": seen(
        loops=[troubled("opensearch_unavailable", quiet=4000)]
    ),
    "a chore under way": seen(
        processes=[UPKEEP, process("chores", "chores")], chores=[chore()]
    ),
    "a worker that was started again": seen(
        processes=[
            UPKEEP,
            process("embed", "enhance.embed", silent=20),
            process("embed", "enhance.embed", age=10),
        ]
    ),
}


@pytest.mark.parametrize("state", WELL)
def test_nothing_is_said_of_what_is_well(state: str):
    assert diagnosis.describe_problems(WELL[state]) == []


def test_a_name_from_elsewhere_is_quoted_in_a_command():
    (sentence,) = diagnosis.describe_problems(
        seen(stage("message:a; rm -rf x", quarantined=1))
    )

    assert "--stage 'message:a; rm -rf x'`" in sentence


def test_a_problem_is_about_the_same_however_its_sentence_changes() -> None:
    silent = process("embed", "enhance.embed", silent=20)
    pairs = [
        (seen(stage(quarantined=1)), seen(stage(quarantined=9))),
        (
            seen(stage(paused=pause("opensearch_unavailable"))),
            seen(loops=[troubled("opensearch_unavailable")]),
        ),
        (
            seen(stage("embed:m", overdue=2)),
            seen(
                stage("embed:n", overdue=9, oldest_seconds=99),
                processes=[UPKEEP, process("embed", "enhance.embed")],
            ),
        ),
        (
            seen(processes=[UPKEEP, silent]),
            seen(processes=[UPKEEP, process("embed", silent=99)]),
        ),
    ]
    for before, after in pairs:
        [one], [other] = map(diagnosis.find_problems, (before, after))
        assert one.about == other.about
        assert one.message != other.message


def test_that_messages_do_not_arrive_is_told_without_saying_where_to() -> None:
    lost = LoopState("messages", "here 1", 3, {"code": "source_unreachable"}, NOW)
    [sentence] = diagnosis.describe_problems(seen(loops=[lost]))
    assert "`operations.webhook_url` since 2026-03-02 12:00 UTC" in sentence
