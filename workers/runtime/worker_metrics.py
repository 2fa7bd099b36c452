"""Prometheus figures of a worker process or upkeep, on loopback, in every pool."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from prometheus_client import (
    REGISTRY,
    CollectorRegistry,
    Counter,
    Histogram,
    start_http_server,
)
from prometheus_client.multiprocess import MultiProcessCollector

from shared.log import get_logger
from workers.runtime.worker_kinds import METRICS_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prometheus_client import Metric

    from shared.errors import LogchordError
    from shared.search.response.answer import ModelShare
    from shared.search.response.end_search import EndedSearch
    from shared.sources.run_records import Counts

log = get_logger()

TASKS = Counter("logchord_tasks_total", "Tasks run, by outcome.", ["task", "outcome"])
TASK_SECONDS = Histogram("logchord_task_seconds", "How long a task ran.", ["task"])
BRANCH_SECONDS = Histogram(
    "logchord_branch_seconds",
    "How long a search branch ran.",
    ["branch", "status"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5),
)
REFUSED = Counter(
    "logchord_messages_refused_total",
    "Messages that no task can be made of, by queue.",
    ["queue"],
)
JOBS = Counter("logchord_jobs_total", "Searches ended here, by state.", ["state"])
ANSWERS = Counter(
    "logchord_answers_total",
    "Answers in sentences, by status and grade.",
    ["status", "grade"],
)

AGENT_TURNS = Counter("logchord_agent_turns_total", "Turns of agents.", ["state"])
AGENT_CALLS = Counter(
    "logchord_agent_calls_total", "Tools called by agents.", ["tool", "status"]
)
AGENT_ENDS = Counter(
    "logchord_agent_ends_total", "Agents ended, by reason.", ["exit_reason"]
)
MODEL_CALLS = Counter(
    "logchord_llm_calls_total",
    "Answers that a model was to word, by what came of it.",
    ["model", "status"],
)
MODEL_TOKENS = Counter(
    "logchord_llm_tokens_total", "Tokens read and written.", ["model", "direction"]
)
MODEL_FIRST_SECONDS = Histogram(
    "logchord_llm_first_chunk_seconds",
    "Until a model's first word.",
    ["model"],
    buckets=(0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20),
)
MODEL_SENTENCES = Counter(
    "logchord_llm_sentences_removed_total",
    "Sentences of models that their sources do not bear out.",
    ["model"],
)

INGESTED = Counter("logchord_ingested_total", "Entries taken in.", ["source", "status"])
INGESTED_BYTES = Counter(
    "logchord_ingested_bytes_total", "Bytes of payload read.", ["source"]
)
RUNS = Counter(
    "logchord_runs_total", "Runs of sources, by outcome.", ["source", "kind", "outcome"]
)


def ingested(source: str, counts: Counts) -> None:
    """Count what a page of a source brought."""
    statuses = {
        "created": counts.added,
        "updated": counts.updated,
        "unchanged": counts.unchanged,
        "deleted": counts.deleted,
        "rejected": counts.rejected + counts.quarantined,
    }
    for status, count in statuses.items():
        if count:
            INGESTED.labels(source, status).inc(count)
    INGESTED_BYTES.labels(source).inc(counts.bytes)


def task_done(name: str, error: LogchordError | None, seconds: float) -> None:
    """Count one task by how it ended."""
    TASKS.labels(name, error.error_code if error else "ok").inc()
    TASK_SECONDS.labels(name).observe(seconds)


def branch_done(branch: str, status: str, seconds: float) -> None:
    """Count one branch by its outcome."""
    BRANCH_SECONDS.labels(branch, status).observe(seconds)


def search_ended(ended: EndedSearch) -> None:
    """Count a search that ended here, and its answer by what that is worth."""
    JOBS.labels(ended.state).inc()
    if ended.sentences is not None:
        answered(ended.sentences.context.status, ended.sentences.context.grade)


def answered(status: str, grade: str) -> None:
    """Count an answer in sentences, by what it is worth."""
    ANSWERS.labels(status, grade).inc()


def model_asked(share: ModelShare) -> None:
    """Count what a model had to do with an answer."""
    name = share.model or "none"
    MODEL_CALLS.labels(name, share.reason or share.status).inc()
    for direction, tokens in (("in", share.tokens_in), ("out", share.tokens_out)):
        if tokens:
            MODEL_TOKENS.labels(name, direction).inc(tokens)
    if share.first_ms is not None:
        MODEL_FIRST_SECONDS.labels(name).observe(share.first_ms / 1000)
    if share.removed:
        MODEL_SENTENCES.labels(name).inc(share.removed)


class SharedFigures(MultiProcessCollector):
    """The figures of this process and its children, which are one file each."""

    def __init__(self, folder: str, registry: CollectorRegistry) -> None:
        super().__init__(registry, folder)  # type: ignore[no-untyped-call]

    def collect(self) -> Iterable[Metric]:
        """Return the figures of every file that a process has begun to count in.

        A child makes its file empty and gives it its size in a second step: whoever
        asked between the two was answered 500.
        """
        files = Path(self._path).glob("*.db")
        counted = [str(file) for file in files if file.stat().st_size]
        figures: Iterable[Metric] = MultiProcessCollector.merge(counted)
        return figures


def served(port: int = 0) -> int | None:
    """Answer /metrics if the port can be had: nothing else depends on it."""
    try:
        return serve(port)
    except OSError as exc:
        log.warning("metrics_not_served", error=str(exc))
        return None


def serve(port: int = 0) -> int:
    """Answer /metrics for this process and its children; return the port."""
    registry = REGISTRY
    if folder := os.environ.get(METRICS_VARIABLE):
        registry = CollectorRegistry()
        SharedFigures(folder, registry)
    server, _ = start_http_server(port, addr="127.0.0.1", registry=registry)
    return int(server.server_port)


def forget() -> None:
    """Remove the folder of figures that this worker's children shared."""
    if folder := os.environ.get(METRICS_VARIABLE):
        shutil.rmtree(folder, ignore_errors=True)
