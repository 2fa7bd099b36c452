"""Whether the whole stack is healthy, asked from outside as its users would."""

import time
from collections.abc import Callable

import httpx2

from api.cli.api_client import base_url
from shared.errors import LogchordError
from shared.messaging import task_names
from shared.postgres.pool import connect
from shared.settings.settings import Settings
from shared.work import live_processes

_POLL_SECONDS, _PATIENCE_SECONDS, _PROBE_SECONDS = 0.5, 300.0, 2.0
# Each of these queues is served, by whichever worker.
_WORKERS = {
    task_names.SEARCH_QUEUE: "search",
    task_names.WIDE_SEARCH_QUEUE: "search-bulk",
    task_names.QUEUE_OF[task_names.END_SEARCH]: "answer",
    task_names.QUEUE_OF[task_names.EXTRACT_METADATA]: "enhance",
    task_names.QUEUE_OF[task_names.EMBED_ENTRIES]: "embed",
}


def wait(
    settings: Settings, is_running: Callable[[], bool], *, since: float
) -> list[str]:
    """Wait until all is healthy; return what is still missing at the time limit."""
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        lacking = missing(settings, since=since)
        if not is_running():
            lacking.append("a process of the Procfile")
        if not lacking or time.monotonic() > deadline:
            return lacking
        time.sleep(_POLL_SECONDS)


def missing(settings: Settings, *, since: float = 0.0) -> list[str]:
    """Return the names of what is not healthy."""
    return [*_unready(settings), *_flower(settings), *_silent_workers(settings, since)]


def _unready(settings: Settings) -> list[str]:
    try:
        answer = _get(f"{base_url(settings)}/health/ready")
        checks: dict[str, str] = answer.json()["checks"]
    except (httpx2.TransportError, ValueError, KeyError):
        return ["api"]
    off = _is_off(settings)
    return [
        name
        for name, state in checks.items()
        if state != "ok" and not (off and name == "opensearch")
    ]


def _flower(settings: Settings) -> list[str]:
    url = f"http://127.0.0.1:{settings.flower_port}/healthcheck"
    try:
        return [] if _get(url).is_success else ["flower"]
    except httpx2.TransportError:
        return ["flower"]


def _get(url: str) -> httpx2.Response:
    """Ask without the proxy of the environment, which cannot reach loopback."""
    return httpx2.get(url, timeout=_PROBE_SECONDS, trust_env=False)


def _silent_workers(settings: Settings, since: float) -> list[str]:
    """Return the kinds of worker that have not reported since this start."""
    url = settings.database_url
    if url is None:
        return ["postgres"]
    try:
        with connect(url.get_secret_value(), application="health") as conn:
            rows = live_processes.list_processes(conn)
    except LogchordError:
        return ["postgres"]
    alive = [r for r in rows if not r.stale and r.since.timestamp() > since - 1]
    served = {queue for one in alive for queue in one.queues}
    return sorted(f"worker {_WORKERS[queue]}" for queue in _WORKERS.keys() - served)


def _is_off(settings: Settings) -> bool:
    url = settings.opensearch_url
    return url is not None and url.get_secret_value() == "off"
