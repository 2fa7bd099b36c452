"""`logchord push`: entries of a file, sent in batches that may be sent twice."""

import json
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TextIO

import click
import httpx2

from api.cli import api_client, output
from api.cli.entry_input.entry_file import FileEntry, rows
from api.cli.output import CommandError, UsageError
from shared.ids import uuid7

_STATUSES = ("created", "updated", "unchanged", "rejected")
_ATTEMPTS = 5
_MAX_PAUSE_SECONDS = 30.0
_SAY_EVERY_SECONDS = 5.0
_ENVELOPE_BYTES = 64
_MOST_ALIKE = 10
_IN_BATCH = re.compile(r"\Aentries\.\d+\.")


@dataclass
class _PushLimits:
    entries: int
    size: int


@dataclass
class _Tally:
    """How many entries had which outcome so far."""

    counts: Counter[str] = field(default_factory=Counter)
    rejected: list[dict[str, Any]] = field(default_factory=list)
    told_at: float = field(default_factory=time.monotonic)

    def reject(self, place: str, code: str, message: str) -> None:
        """Count an entry that was not taken, and keep why."""
        self.counts["rejected"] += 1
        self.rejected.append({"place": place, "code": code, "message": message})

    def reasons(self) -> Iterator[str]:
        """Yield why entries were not taken; what holds for many is said a few times."""
        alike: Counter[str] = Counter()
        for one in self.rejected:
            # The place in the batch that was sent is nothing to whoever wrote the file.
            message = _IN_BATCH.sub("", one["message"])
            reason = f"{message} (code: {one['code']})"
            alike[reason] += 1
            if alike[reason] <= _MOST_ALIKE:
                yield f"{one['place']}: {reason}"
        for reason, count in alike.items():
            if count > _MOST_ALIKE:
                more = count - _MOST_ALIKE
                yield f"{more} more, which --json lists: {reason}"

    def line(self) -> str:
        """Return the counts as one line."""
        return ", ".join(f"{name} {self.counts[name]}" for name in _STATUSES)


@click.command()
@click.argument("file", default="-")
@click.option("--source", default="api", help="For entries that name none.")
@click.option(
    "--atomic", is_flag=True, help="All or nothing; then one batch is the most."
)
def push(*, file: str, source: str, atomic: bool) -> int:
    """Send the entries of FILE, or of standard input: JSON, JSON lines or CSV.

    Entries with an external_id may be sent twice: the second time nothing changes.
    """
    out = output.current()
    tally = _Tally()
    with api_client.open_client(out) as client, _opened(file) as stream:
        limits = _limits(client)
        found = _with_source(rows(stream, file), source)
        if atomic:
            found = iter(_all_or_nothing(list(found), limits))
        for batch in _batches(found, limits, tally):
            _send(client, batch, tally, atomic=atomic)
            _say_now_and_then(out, tally)
    for line in tally.reasons():
        out.complain(line)
    if out.as_json:
        counts = {name: tally.counts[name] for name in _STATUSES}
        out.document({"counts": counts, "rejected": tally.rejected})
    else:
        out.data(tally.line())
    return output.FAILED if tally.counts["rejected"] else output.DONE


def _opened(file: str) -> TextIO:
    # Bytes that are no UTF-8 stay what they are, and are refused where they stand.
    if file == "-":
        number = os.dup(sys.stdin.fileno())
        return os.fdopen(number, encoding="utf-8", errors="surrogateescape", newline="")
    try:
        return open(  # noqa: PTH123 - the caller's `with` closes it
            file, encoding="utf-8", errors="surrogateescape", newline=""
        )
    except OSError as exc:
        raise UsageError(f"{file} cannot be read: {exc.strerror}.") from exc


def _limits(client: httpx2.Client) -> _PushLimits:
    limits = api_client.call(client, "GET", "/v1/me")["limits"]
    return _PushLimits(limits["max_batch_entries"], limits["max_batch_bytes"])


def _with_source(found: Iterator[FileEntry], source: str) -> Iterator[FileEntry]:
    for row in found:
        if row.entry is not None:
            row.entry.setdefault("source", source)
        yield row


def _all_or_nothing(found: list[FileEntry], limits: _PushLimits) -> list[FileEntry]:
    bad = next((row for row in found if row.problem), None)
    if bad is not None:
        raise CommandError(f"{bad.place}: {bad.problem} Nothing was sent.")
    if len(found) > limits.entries:
        raise UsageError(
            f"--atomic sends one batch of at most {limits.entries} entries;"
            f" this file has {len(found)}."
        )
    return found


def _batches(
    found: Iterator[FileEntry], limits: _PushLimits, tally: _Tally
) -> Iterator[list[tuple[str, bytes]]]:
    """Yield batches within the API's limits; count lines that are no entry."""
    batch: list[tuple[str, bytes]] = []
    size = _ENVELOPE_BYTES
    for row in found:
        if row.entry is None:
            tally.reject(row.place, "invalid_json", row.problem or "")
            continue
        body = json.dumps(row.entry).encode()
        if len(body) + _ENVELOPE_BYTES > limits.size:
            message = f"A request may have {limits.size} bytes."
            tally.reject(row.place, "body_too_large", message)
            continue
        if batch and (
            len(batch) == limits.entries or size + len(body) + 1 > limits.size
        ):
            yield batch
            batch, size = [], _ENVELOPE_BYTES
        batch.append((row.place, body))
        size += len(body) + 1
    if batch:
        yield batch


def _send(
    client: httpx2.Client,
    batch: list[tuple[str, bytes]],
    tally: _Tally,
    *,
    atomic: bool,
) -> None:
    entries = b",".join(body for _, body in batch)
    flag = b"true" if atomic else b"false"
    answer = _send_again_while_told_to(
        client, b'{"atomic":%b,"entries":[%b]}' % (flag, entries)
    )
    for item in answer["items"]:
        if item["status"] == "rejected":
            error = item["error"]
            place = batch[item["index"]][0]
            tally.reject(place, error["code"], error["message"])
        else:
            tally.counts[item["status"]] += 1


def _send_again_while_told_to(client: httpx2.Client, body: bytes) -> Any:
    """Send a batch; the same key makes sure that a repeat is not a second entry."""
    headers = {"Content-Type": "application/json", "Idempotency-Key": str(uuid7())}
    for attempt in range(_ATTEMPTS):
        try:
            return api_client.call(
                client, "POST", "/v1/entries", content=body, headers=headers
            )
        except CommandError as exc:
            if exc.exit_code != output.TRY_AGAIN or attempt == _ATTEMPTS - 1:
                raise
        time.sleep(min(0.5 * 2**attempt, _MAX_PAUSE_SECONDS))
    raise AssertionError  # the last attempt has returned or raised


def _say_now_and_then(out: output.Output, tally: _Tally) -> None:
    if time.monotonic() - tally.told_at >= _SAY_EVERY_SECONDS:
        tally.told_at = time.monotonic()
        out.say(f"{tally.line()} ...")
