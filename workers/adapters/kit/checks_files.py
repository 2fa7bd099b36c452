"""Rows about attachments, and about the same items by every kind of run."""

from __future__ import annotations

import json
from typing import Any

from shared.sources import runs
from workers.adapters.kit.keeping import Keeping
from workers.adapters.kit.stub import StubFile

_ODD_NAMES = ("../../etc/passwd", 'a "quoted" name.txt', "line\rend.txt", "Größe.txt")
EXTRA = {"operator": "Ilse", "beam_current": 401}


def attachments(keeping: Keeping) -> None:
    """ADP22: names that collide or lie, foreign addresses, what is not there."""
    files = (
        StubFile("twin.txt", b"one"),
        StubFile("twin.txt", b"two"),
        *(StubFile(name, b"odd") for name in _ODD_NAMES),
        StubFile("gone.txt", b"", missing=True),
        StubFile("elsewhere.txt", b"far", foreign=True),
    )
    told = [file for file in files if _can_hold(keeping, file)]
    assert told, "the stub holds no file at all"
    entry = keeping.some(1, files=tuple(told))[0]
    external_id = keeping.add(entry)[0]
    keeping.load()
    with keeping.stock() as stock:
        stored = stock.attachments()
    names = [one["filename"] for one in stored]
    # Two of one name at one address are one file.
    assert len({file.filename for file in told}) <= len(stored) <= len(told), names
    assert {one["external_id"] for one in stored} == {external_id}
    assert all(names), "a file has a name"


def _can_hold(keeping: Keeping, file: StubFile) -> bool:
    with keeping.anew() as one:
        try:
            external_id = one.stub.add(one.some(1, files=(file,))[0])
        except LookupError:
            return False
        item = one.item(external_id)
        return bool(one.open().adapter.parse(item).attachments)


def every_kind_of_run(keeping: Keeping) -> None:
    """ADP32: each kind of run stores equal rows, with a row of its own."""
    extra = StubFile("Metadata.JSON", json.dumps(EXTRA).encode())
    entries = [
        *(keeping.fresh(text=f"Text {number}") for number in range(3)),
        keeping.fresh(title="With a file", files=(extra,)),
    ]
    keeping.add(*entries)
    kinds = [runs.BACKFILL, runs.TAIL]
    can = keeping.open().capabilities
    if {can.edits, can.deletes} & {"index", "rescan"}:
        kinds.append(runs.RECONCILE)
    found: dict[str, list[tuple[Any, ...]]] = {}
    for kind in kinds:
        with keeping.under_another_name() as other:
            run = other.run(kind)
            assert run.error is None, run.error
            assert run.added == len(entries), f"{kind} has added {run.added}"
            found[kind] = _rows(other)
            run = other.run(runs.REPARSE)
            assert run.error is None, run.error
            assert (run.added, run.updated) == (0, 0), f"{run.updated} read otherwise"
            assert run.unchanged == len(entries)
            assert _rows(other) == found[kind]
    first = found[runs.BACKFILL]
    assert all(rows == first for rows in found.values()), "the kinds of run differ"


def _rows(keeping: Keeping) -> list[tuple[Any, ...]]:
    with keeping.stock() as stock:
        return [
            (
                one.external_id,
                one.title,
                one.text,
                one.entry_time,
                one.fields,
                one.flags,
            )
            for one in stock.entries()
        ]
