"""What a check has found out about a source, in lines for a person."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from api.cli.source import ages

_SEEN = {
    "cursor": "seen by the next poll",
    "flagged": "seen by the next poll",
    "index": "seen by comparing its list of ids, every few hours",
    "rescan": "seen by reading it again: changed files at each poll, else every few"
    " hours",
    "append_only": "there are none",
    "impossible": "there are none",
    "invisible": "not visible",
}
_EACH_POLL = "seen by the next poll, by its list of ids"
_SECOND_POLL = "seen by the second poll that does not list them"
_ONCE_A_DAY = {
    "index": "seen by comparing its list of ids, once a day",
    "rescan": "seen by reading it again, once a day",
}
# A run that goes on no more.
ENDED = frozenset({"done", "partial", "failed"})
_COUNTED = ("added", "updated", "unchanged", "deleted", "quarantined", "rejected")
_REPLIES = {"none": "not told", "title": "told by titles alone"}
_FILES = {"none": "it has none"}
_READERS = {"none": "not told", "entry": "told entry by entry", "book": "told by book"}


def lines(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield each known finding of a check, with its label."""
    can, said = found["capabilities"], found["found"] or {}
    newest = said.get("newest")
    if newest is not None:
        yield "newest entry", when(newest, found["timezone"])
    if said.get("entries") is not None:
        yield "entries", f"{said['entries']:,}"
    yield "time zone", _zone(found["timezone"], said.get("timezone_guess"))
    # A source that nothing but its listing tells of is listed by each poll.
    is_listed = can["order"] == "none"
    if is_listed and can["edits"] == "index":
        yield "edits", _EACH_POLL
    else:
        yield "edits", _SEEN[can["edits"]]
    if is_listed and can["deletes"] == "index":
        yield "deletions", _SECOND_POLL
    else:
        yield "deletions", _ONCE_A_DAY.get(can["deletes"], _SEEN[can["deletes"]])
    yield "replies", _REPLIES.get(can["replies"], "told")
    yield "files", _FILES.get(can["attachments"], "read")
    yield "who may read", _READERS[can["readers"]]


def when(time: str, zone: str | None) -> str:
    """Return a time of the API as the logbook itself shows it."""
    return ages.when(datetime.fromisoformat(time), zone)


def _zone(configured: str | None, guess: str | None) -> str:
    told = configured or "said by its times"
    return f"{told}; its times look like {guess}" if guess else told


def counts(run: dict[str, Any]) -> str:
    """Return how many entries a run has seen, and what became of them."""
    parts = [f"{name} {run[name]}" for name in _COUNTED if run.get(name)]
    return ", ".join([f"seen {run['seen']}", *parts])


def waits(waiting: dict[str, Any]) -> str:
    """Return the reason why a queued run has not begun."""
    queue = waiting["queue"]
    if not waiting["workers"]:
        return f"no worker of the queue {queue} is alive"
    if waiting["ahead"] is None:
        return "its source is paused, has it due later, or is polled first"
    return f"{waiting['ahead']} before it, workers of {queue}: {waiting['workers']}"
