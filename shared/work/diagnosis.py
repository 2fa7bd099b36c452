"""What is wrong, and what to do about it: one plain sentence for each state."""

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from zoneinfo import ZoneInfo

from shared.messaging import task_names
from shared.times.rfc3339 import on_clock
from shared.work import live_processes
from shared.work.chore_records import Maintenance
from shared.work.lag import StageLag
from shared.work.live_processes import Process
from shared.work.stage_pauses import BUDGET_SPENT, Pause
from shared.work.upkeep_loops import MESSAGES_LOOP, LoopState

LOOP_IS_QUIET_SECONDS = 30.0
MESSAGE_PREFIX = "message:"
CHORES_QUEUE = task_names.QUEUE_OF[task_names.EXPIRE]

# Looked at less often: what is late by its own measure.
_QUIET_SECONDS = {"retention": 180.0, MESSAGES_LOOP: 180.0}
# Beside workers that are alive, work may wait a little for its turn.
_PATIENCE_SECONDS = 30.0
# Whose outage a code tells of, as operators call it.
_OPENSEARCH = "OpenSearch"
_BACKENDS = {
    "opensearch_unavailable": _OPENSEARCH,
    "embedding_unavailable": "the embedding model",
    "configuration_invalid": "the configuration of its worker",
    "database_unavailable": "Postgres",
    "database_query_retry": "Postgres",
    "read_only": "Postgres, which takes no writes",
    "schema_missing": "the schema, which `logchord migrate` brings up to date",
    "broker_unavailable": "the message broker",
}


class Problem(NamedTuple):
    """What is wrong and what to do; the same thing has the same `about`."""

    about: str
    message: str


@dataclass(frozen=True, slots=True)
class SystemState:
    """The state of the system that the sentences are made from."""

    stages: Sequence[StageLag]
    processes: Sequence[Process]
    loops: Sequence[LoopState]
    as_of: datetime
    chores: Sequence[Maintenance] = ()
    # Stages with work that no package here can do.
    not_run: frozenset[str] = frozenset()
    # The limit of live work, when more than it is due.
    full_at: int | None = None
    # Whose clocks the sentences tell times by.
    zone: str = "UTC"


def describe_problems(seen: SystemState) -> list[str]:
    """Return a sentence for each problem; none when all is well."""
    return [one.message for one in find_problems(seen)]


def find_problems(seen: SystemState) -> list[Problem]:
    """Return each problem by what it is about, several of one outage alike."""
    return [
        *_upkeep(seen),
        *_troubled(seen),
        *_silent(seen.processes),
        *_not_run(seen),
        *(
            Problem(_cause(one.paused), pause_sentence(one.paused, seen.zone))
            for one in seen.stages
            if one.paused and one.stage not in seen.not_run
        ),
        *_waiting(seen),
        *_chores(seen),
        *_full(seen.full_at),
        *_quarantined(seen.stages),
    ]


def pause_sentence(pause: Pause, zone: str) -> str:
    """Return a sentence on why a stage rests, and what ends the rest."""
    since = on_clock(pause.since, ZoneInfo(zone))
    if pause.code == BUDGET_SPENT:
        stage = shlex.quote(pause.stage)
        last = str((pause.error or {}).get("code", "unknown"))
        return (
            f"The stage {pause.stage!r} is paused since {since}: it quarantined more"
            f" than its budget allows, the last one for {last}, which speaks of a bad"
            " release or model rather than of bad entries. Nothing is lost. Look with"
            f" `logchord quarantine list --stage {stage}`, repair it, then let it"
            f" go on with `logchord quarantine retry --stage {stage}`."
        )
    backend = _BACKENDS.get(pause.code, f"a part it needs ({pause.code})")
    return (
        f"The stage {pause.stage!r} rests since {since} because of {backend}: it failed"
        f" {_times(pause.failures)}. Nothing is lost, it is tried again at least every"
        " 12 s and goes on by itself; `logchord doctor` tells which server is away."
    )


def of_database(message: str) -> str:
    """Return the sentence for a database that does not answer."""
    return f"Postgres does not answer, so nothing is known of the work: {message}"


def _cause(pause: Pause) -> str:
    if pause.code == BUDGET_SPENT:
        return f"budget of {pause.stage}"
    return f"outage: {pause.code}"


def _upkeep(seen: SystemState) -> Iterator[Problem]:
    alive = [one for one in seen.processes if one.kind == "upkeep" and not one.stale]
    if not alive:
        yield Problem(
            "upkeep",
            "No upkeep is alive: work whose message or worker was lost waits until it"
            " is back. Start `logchord serve upkeep`.",
        )
        return
    began = min(one.since for one in alive)
    newest = max(one.seen_at for one in alive)
    for loop in seen.loops:
        quiet = loop.seconds_since_turn
        most = _QUIET_SECONDS.get(loop.name, LOOP_IS_QUIET_SECONDS)
        if quiet is None or quiet <= most:
            continue
        # One that nobody holds and that this upkeep never turned is switched off.
        if loop.holder is None and quiet > (newest - began).total_seconds() + most:
            continue
        held = f"held by {loop.holder}" if loop.holder else "held by nobody"
        yield Problem(
            f"loop {loop.name}",
            f"The loop {loop.name!r} of upkeep has not turned for {quiet:.0f} s"
            f" ({held}): read `logchord logs upkeep`, and restart that process if it"
            " hangs; another upkeep takes over.",
        )


def _troubled(seen: SystemState) -> Iterator[Problem]:
    """Yield which server a loop cannot reach, unless a resting stage tells of it."""
    told = {one.paused.code for one in seen.stages if one.paused}
    for loop in seen.loops:
        quiet = loop.seconds_since_turn
        if loop.trouble is None or loop.trouble_since is None:
            continue
        code = str(loop.trouble.get("code", "unknown"))
        # What a loop met that turns no more is an old story.
        if code in told or quiet is None or quiet > LOOP_IS_QUIET_SECONDS:
            continue
        since = on_clock(loop.trouble_since, ZoneInfo(seen.zone))
        if loop.name == MESSAGES_LOOP:
            yield Problem(
                f"loop {MESSAGES_LOOP}",
                "Messages of problems have not arrived at `operations.webhook_url`"
                f" since {since}; they are sent again. See `logchord logs upkeep`.",
            )
            continue
        backend = _BACKENDS.get(code, f"A part that it needs ({code})")
        meanwhile = ""
        if backend == _OPENSEARCH:
            meanwhile = (
                " Words are searched in Postgres meanwhile, and answers say"
                " `degraded`; new entries wait for the index, and nothing is lost."
            )
        yield Problem(
            f"outage: {code}",
            f"{backend} has not answered the loop {loop.name!r} of upkeep since"
            f" {since}.{meanwhile} `logchord doctor` tells where it is looked for.",
        )


def _silent(known: Sequence[Process]) -> Iterator[Problem]:
    for one in live_processes.missing(known):
        if one.kind == "upkeep":
            alike = (other for other in known if other.kind == one.kind)
            if not any(not other.stale for other in alike):
                # Said already.
                continue
        yield Problem(
            f"worker {one.kind}",
            f"The {one.kind} worker {one.pid} on {one.host} has not reported for 15 s;"
            f" others do what it held. Read `logchord logs {one.kind}`, and start it"
            f" again with `{_start(one.kind, one.queues)}`.",
        )


def _not_run(seen: SystemState) -> Iterator[Problem]:
    for one in seen.stages:
        if one.stage in seen.not_run:
            work = _some(one.due + one.bulk, "entry waits", "entries wait")
            yield Problem(
                f"package of {one.stage}",
                f"{work} for the stage {one.stage!r}, which cannot be run here: it is"
                " switched off, or its package is not installed or cannot be loaded."
                " They are searched without it and fill no backlog. With the package"
                " mended, or installed again, they are done by themselves.",
            )


def _waiting(seen: SystemState) -> Iterator[Problem]:
    for one in seen.stages:
        if not one.overdue or one.paused or one.stage in seen.not_run:
            continue
        queue = queue_of(one.stage)
        alive = _alive(seen.processes, queue)
        work = _some(one.overdue, "entry waits", "entries wait")
        if not alive:
            yield Problem(
                f"queue {queue}",
                f"{work} for the stage {one.stage!r}, and no worker of the queue"
                f" {queue} is alive: start `logchord serve worker {queue}`.",
            )
        elif not one.per_minute and one.oldest_seconds > _PATIENCE_SECONDS:
            named = alive[0].kind
            workers = _some(len(alive), "worker", "workers")
            yield Problem(
                f"queue {queue}",
                f"{work} for the stage {one.stage!r} and none was done within a"
                f" minute, though its queue {queue} has {workers} alive. Ask `logchord"
                " doctor` first: with the message broker away they wait until it is"
                f" back. Else read `logchord logs {named}`, and restart it if it"
                " hangs.",
            )


def _chores(seen: SystemState) -> Iterator[Problem]:
    """Yield which chores nobody works on, and why they were put off."""
    alive = _alive(seen.processes, CHORES_QUEUE)
    for one in seen.chores:
        late = (seen.as_of - (one.heartbeat or one.created_at)).total_seconds()
        if not alive and late > _PATIENCE_SECONDS:
            yield Problem(
                f"queue {CHORES_QUEUE}",
                f"The chore {one.kind!r} waits, and no worker of the queue"
                f" {CHORES_QUEUE} is alive: start `logchord serve worker"
                f" {CHORES_QUEUE}`. It goes on where it stopped.",
            )
        elif one.error is not None and one.strikes:
            yield Problem(
                f"chore {one.kind}",
                f"The chore {one.kind!r} failed {_times(one.strikes)} in a row, the"
                f" last time for {one.error.get('code', 'unknown')}: read `logchord"
                " logs chores`. It is tried again by itself.",
            )


def _alive(known: Iterable[Process], queue: str) -> list[Process]:
    return [one for one in known if queue in one.queues and not one.stale]


def _full(full_at: int | None) -> Iterator[Problem]:
    if full_at is not None:
        yield Problem(
            "backlog",
            f"More live work is due than max_backlog_entries allows ({full_at}): pushes"
            " get 429 `backlog_full` until workers have caught up. What was accepted"
            " is safe. Start more workers (`logchord serve worker QUEUES`) or raise"
            " the limit.",
        )


def _quarantined(stages: Iterable[StageLag]) -> Iterator[Problem]:
    for one in stages:
        if not one.quarantined:
            continue
        stage = shlex.quote(one.stage)
        about = f"quarantine of {one.stage}"
        look = f"`logchord quarantine list --stage {stage}`"
        if one.stage.startswith(MESSAGE_PREFIX):
            yield Problem(
                about,
                f"{_some(one.quarantined, 'message', 'messages')} on the queue"
                f" {one.stage.removeprefix(MESSAGE_PREFIX)} could not be read: {look}"
                " shows why. Find who sends them, then `logchord quarantine discard"
                " ID --reason TEXT`.",
            )
        else:
            entries = _some(one.quarantined, "entry was", "entries were")
            yield Problem(
                about,
                f"{entries} quarantined by the stage"
                f" {one.stage!r}: {look} shows why. Repair the cause, then"
                f" `logchord quarantine retry --stage {stage}`.",
            )


def queue_of(stage: str) -> str:
    """Return the queue whose workers do the work of a stage."""
    return task_names.QUEUE_OF[task_names.task_of(stage)[0]]


def _start(kind: str, queues: Sequence[str]) -> str:
    if not queues:
        return f"logchord serve {kind}"
    return f"logchord serve worker {','.join(queues)}"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _some(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"
