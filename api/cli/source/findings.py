"""What is found out about a source and its runs, in words for a person."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

_SECONDS_A = {"d": 86_400, "h": 3600, "min": 60, "s": 1}
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
        yield "newest entry", when(datetime.fromisoformat(newest), found["timezone"])
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


def ago(seconds: float) -> str:
    """Return an age in the unit in which it is two at least; negative is to come."""
    amount = abs(seconds)
    unit = next((one for one, size in _SECONDS_A.items() if amount >= 2 * size), "s")
    told = f"{amount / _SECONDS_A[unit]:.0f} {unit}"
    return f"{told} ago" if seconds >= 0 else f"in {told}"


def when(time: datetime, zone: str | None) -> str:
    """Return a time as the logbook itself shows it, and its distance.

    By the one its user knows the entry, by the other a wrong zone shows itself.
    """
    distance = ago((datetime.now(UTC) - time).total_seconds())
    there = time.astimezone(ZoneInfo(zone) if zone else UTC)
    return f"{there:%Y-%m-%d %H:%M %Z} ({distance})"


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
