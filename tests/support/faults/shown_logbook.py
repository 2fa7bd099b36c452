"""What a system that begins with nothing is given: made-up entries, and real ones."""

import csv
import gzip
import hashlib
import json
import random
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, LiteralString, Self

import httpx2
import psycopg

from bench import logbook
from tests.support.faults.measures.ledger import Ledger
from tests.support.shared_data import LOGBOOKS

POSTED_AT_ONCE = 100
# Of the made-up ones: what answers an earlier entry, what is edited, what is deleted.
REPLIES, EDITS, DELETIONS = 0.15, 0.05, 0.01
_AGAIN_SECONDS = 0.5
_STATE: LiteralString = """
    SELECT e.id::text, e.deleted_at IS NOT NULL, r.text
      FROM entry e
      JOIN revision r ON r.entry_id = e.id AND r.number = e.revision"""

Body = dict[str, Any]


def made_up(count: int, seed: int) -> Iterator[Body]:
    """Yield entries with devices, shifts and replies; the same seed, the same."""
    chance = random.Random(seed)
    for number, one in enumerate(logbook.entries(count, seed=seed)):
        body = {
            "source": "api",
            "external_id": f"made-{number}",
            "title": one["title"],
            "text": one["text"],
            "authors": [one["author"]],
            "entry_time": one["timestamp"],
            "logbooks": one["books"],
            "tags": one["tags"],
            "shift": one["metadata"]["shift"],
        }
        if number and chance.random() < REPLIES:
            # Most replies follow soon after what they answer.
            back = min(number, int(chance.expovariate(0.05)) + 1)
            body["reply_to"] = f"made-{number - back}"
        yield body


def real(folder: Path = LOGBOOKS) -> Iterator[Body]:
    """Yield the real texts at hand: events of reactors, orders of a workshop."""
    events, orders = (
        folder / "nrc_events_1999.jsonl.gz",
        folder / "excavator_work_orders.csv",
    )
    if events.exists():
        with gzip.open(events, "rt", encoding="utf-8") as lines:
            for number, line in enumerate(lines):
                if text := json.loads(line)["event_text"]:
                    yield _real("operations", number, text)
    if orders.exists():
        with orders.open(encoding="utf-8") as rows:
            for number, row in enumerate(csv.DictReader(rows)):
                if text := row["OriginalShorttext"]:
                    yield _real("maintenance", number, text)


def _real(source: str, number: int, text: str) -> Body:
    return {"source": source, "external_id": f"real-{number}", "text": text}


@dataclass
class Filling:
    """A thread that pushes entries, edits and deletions until each is accepted."""

    ledger: Ledger
    key: str
    bodies: Iterator[Body]
    count: int
    seed: int
    failures: list[BaseException] = field(default_factory=list)
    # By the entry's id: a digest of its text as it was accepted last; None: deleted.
    promised: dict[str, bytes | None] = field(default_factory=dict)

    def __enter__(self) -> Self:
        """Begin to push."""
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Wait until all of it is accepted."""
        self._thread.join(timeout=600)

    @property
    def is_over(self) -> bool:
        """Whether everything is accepted."""
        return not self._thread.is_alive()

    @property
    def share(self) -> float:
        """How much of it has been accepted."""
        return len(self.promised) / max(self.count, 1)

    def not_as_promised(self, database: str) -> list[str]:
        """Return the entries that do not say what was accepted last."""
        with psycopg.connect(database) as conn:
            rows = conn.execute(_STATE).fetchall()
        found = {
            entry_id: None if deleted else _digest(text)
            for entry_id, deleted, text in rows
        }
        return [
            entry_id
            for entry_id, digest in self.promised.items()
            if found.get(entry_id, b"") != digest
        ]

    def _run(self) -> None:
        chance = random.Random(self.seed)
        try:
            with self.ledger.system.client(self.key) as client:
                while some := list(islice(self.bodies, POSTED_AT_ONCE)):
                    ids = self._push(client, some)
                    pairs = list(zip(ids, some, strict=True))
                    edited = [one for one in pairs if chance.random() < EDITS]
                    if edited:
                        again = [_edited(body) for _, body in edited]
                        self._push(client, again)
                        self.ledger.edits += len(again)
                    for entry_id in ids:
                        if chance.random() < DELETIONS:
                            self._delete(client, entry_id)
        except BaseException as exc:  # noqa: BLE001 - told at the end of the run
            self.failures.append(exc)

    def _push(self, client: httpx2.Client, bodies: list[Body]) -> list[str]:
        answer = _until_taken(client, "POST", "/v1/entries", {"entries": bodies})
        ids = []
        for body, item in zip(bodies, answer.json()["items"], strict=True):
            assert item.get("error") is None, item
            ids.append(str(item["entry_id"]))
            self.promised[ids[-1]] = _digest(body["text"])
            self.ledger.times[ids[-1]] = time.time()
        return ids

    def _delete(self, client: httpx2.Client, entry_id: str) -> None:
        _until_taken(client, "DELETE", f"/v1/entries/{entry_id}", None)
        self.promised[entry_id] = None
        self.ledger.note_deleted(entry_id)


def _edited(body: Body) -> Body:
    return {**body, "text": f"{body['text']} Seen again, beam back."}


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


def _until_taken(
    client: httpx2.Client, method: str, path: str, body: Any
) -> httpx2.Response:
    """Ask again until there is a promise; what it says twice it means once."""
    while True:
        answer = client.request(method, path, json=body)
        if answer.is_success:
            return answer
        # What is wrong with a request itself is as wrong the next time.
        is_busy = answer.status_code in {429, 503}
        assert is_busy, answer.text[:500]
        threading.Event().wait(_AGAIN_SECONDS)
