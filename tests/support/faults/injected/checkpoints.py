"""What happens at the named lines of a worker, `ctx.checkpoint(name, *entry_ids)`.

An order is a file, `FOLDER/NAME/ENTRY_ID`, or `FOLDER/NAME/any` for a line to which no
entry has come yet. Whoever unlinks it carries it out, so each is done once. Orders:

    {"does": "kill"}                              end this process without a word
    {"does": "edit", "url": ..., "key": ..., "entry": {...}}    push a newer text
    {"does": "expire"}      end the lease, renew it no more, and go on working once
                            somebody else has claimed the entry, or after 6 s, or
                            as many "seconds" as the order says
    {"does": "hold"}        wait until the file `ENTRY_ID.go` lies there, at most 30 s

"task" in an order names the only task that may take it, and of one that runs any stage
the stage behind a colon. The test's side is `Orders`.
"""

import json
import os
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from typing import Any, LiteralString
from uuid import UUID

ANY = "any"
_POLL_SECONDS = 0.02
_EXPIRE_SECONDS = 6.0
_ANY_STAGE = "enhance.run_stage"
_HOLD_SECONDS = 30.0
# An edit may have to wait for the row that this very line holds: then it comes next.
_EDIT_SECONDS = 1.0

# An entry may be in the hands of two stages at once.
_STAGE_OF = {
    "enhance.extract_metadata": "metadata",
    "enhance.embed_entries": "embed:%",
    "index.index_entries": "index",
    "enhance.place_entries": "duplicates",
    "enhance.run_stage:digest": "digest",
}
_CLAIM_OF: LiteralString = """
    SELECT claim::text FROM work
     WHERE entry_id = %(entry_id)s AND stage LIKE %(stage)s AND claim IS NOT NULL"""
# Not our own row: at some lines the task itself holds it, and then nobody can claim.
_EXPIRE: LiteralString = """
    UPDATE work SET leased_until = clock_timestamp() - interval '1 s'
     WHERE (entry_id, stage) IN (
           SELECT entry_id, stage FROM work
            WHERE entry_id = %(entry_id)s AND claim = %(claim)s::uuid
              FOR UPDATE SKIP LOCKED)"""


class Orders:
    """The test's side: puts orders where the workers look for them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def give(self, name: str, entry_id: str, does: str, **more: Any) -> None:
        """Order what happens when this entry, or any, comes to this line."""
        place = self.folder / name
        place.mkdir(parents=True, exist_ok=True)
        fresh = place / f".{entry_id}"
        fresh.write_text(json.dumps({"does": does, **more}), encoding="utf-8")
        fresh.rename(place / entry_id)

    def kill(self, name: str, entry_id: str = ANY, **more: Any) -> None:
        """Let the process end there without a word."""
        self.give(name, entry_id, "kill", **more)

    def expire(self, name: str, entry_id: str, **more: Any) -> None:
        """Let the lease run out there while the task goes on working."""
        self.give(name, entry_id, "expire", **more)

    def edit(
        self, name: str, entry_id: str, *, url: str, key: str, entry: Any, **more: Any
    ) -> None:
        """Let the entry be edited there, by a push of this body with this key."""
        self.give(name, entry_id, "edit", url=url, key=key, entry=entry, **more)

    def hold(self, name: str, entry_id: str, **more: Any) -> None:
        """Let the task wait there until `let_go`."""
        self.give(name, entry_id, "hold", **more)

    def let_go(self, name: str, entry_id: str) -> None:
        (self.folder / name / f"{entry_id}.go").touch()

    def taken(self, name: str, entry_id: str = ANY) -> bool:
        """Tell whether that order has been taken."""
        return not (self.folder / name / entry_id).exists()

    def left(self) -> list[str]:
        """Return the orders that nobody has come by to take, and edits that failed."""
        return sorted(
            f"{path.relative_to(self.folder)}: {path.read_text(encoding='utf-8')}"
            for path in self.folder.glob("*/*")
            if path.suffix != ".go"
        )


def install(folder: str) -> None:
    """Let every task of this process look for orders at its named lines."""
    from shared.work import due_work
    from workers.runtime.context import Context

    place = Path(folder)
    lost: set[str] = set()
    really_renew: Callable[..., int] = due_work.renew

    def checkpoint(_: Context, name: str, *entry_ids: UUID) -> None:
        for entry_id in [str(one) for one in entry_ids] or [ANY]:
            order = _take(place / name / entry_id)
            if order is not None:
                _carry_out(order, place / name, entry_id, lost)

    def renew(conn: Any, claim_id: UUID, *args: Any, **kwargs: Any) -> int:
        if str(claim_id) in lost:
            return 0
        return really_renew(conn, claim_id, *args, **kwargs)

    Context.checkpoint = checkpoint  # type: ignore[method-assign, assignment]
    due_work.renew = renew


def _take(path: Path) -> dict[str, Any] | None:
    try:
        order: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    if order.get("task") not in (None, _task_at_work()):
        return None
    try:
        path.unlink()
    except FileNotFoundError:
        # Another process was faster: the order is carried out once.
        return None
    return order


def _task_at_work() -> str | None:
    from celery import current_task

    if not current_task:
        return None
    name = str(current_task.name)
    return f"{name}:{current_task.request.args[0]}" if name == _ANY_STAGE else name


def _carry_out(
    order: dict[str, Any], place: Path, entry_id: str, lost: set[str]
) -> None:
    match order["does"]:
        case "kill":
            os._exit(9)
        case "edit":
            failed = place / f"{entry_id}.failed"
            editing = threading.Thread(target=_edit, args=(order, failed))
            editing.start()
            editing.join(_EDIT_SECONDS)
        case "expire":
            _expire(entry_id, lost, float(order.get("seconds", _EXPIRE_SECONDS)))
        case "hold":
            released = place / f"{entry_id}.go"
            _wait_for(released.exists, _HOLD_SECONDS)
        case other:
            message = f"{other!r} is no order"
            raise ValueError(message)


def _edit(order: dict[str, Any], failed: Path) -> None:
    request = urllib.request.Request(  # noqa: S310 - the test's own API
        f"{order['url']}/v1/entries",
        data=json.dumps(order["entry"]).encode(),
        headers={
            "Authorization": f"Bearer {order['key']}",
            "Content-Type": "application/json",
        },
    )

    def accepted() -> bool:
        try:
            with urllib.request.urlopen(request, timeout=30):  # noqa: S310
                failed.unlink(missing_ok=True)
                return True
        except urllib.error.HTTPError as error:
            # What waited too long for the row that this very line holds is told so.
            failed.write_text(f"{error.code} {error.read()!r}", encoding="utf-8")
            return error.code != HTTPStatus.SERVICE_UNAVAILABLE
        except OSError as error:
            failed.write_text(repr(error), encoding="utf-8")
            return True

    _wait_for(accepted, _HOLD_SECONDS)


def _expire(entry_id: str, lost: set[str], seconds: float) -> None:
    import psycopg

    url = os.environ["DATABASE_URL"]
    stage = _STAGE_OF[_task_at_work() or ""]
    with psycopg.connect(url, autocommit=True) as conn:

        def claim() -> str | None:
            which = {"entry_id": entry_id, "stage": stage}
            row = conn.execute(_CLAIM_OF, which).fetchone()
            return row[0] if row else None

        held = claim()
        if held is None:
            return
        lost.add(held)

        def taken_over() -> bool:
            # Again and again: a renewal may just have been on its way.
            with suppress(psycopg.errors.LockNotAvailable):
                conn.execute(_EXPIRE, {"entry_id": entry_id, "claim": held})
            return claim() not in (held, None)

        _wait_for(taken_over, seconds)


def _wait_for(probe: Callable[[], bool], seconds: float) -> None:
    ends = time.monotonic() + seconds
    pause = threading.Event()
    while not probe() and time.monotonic() < ends:
        pause.wait(_POLL_SECONDS)
