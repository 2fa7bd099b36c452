"""Rows about attachments, and about the same items by every kind of run."""

import functools
import json
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from shared.enrich.attachments import attachment_states, fetch_files
from shared.enrich.attachments.file_store import FileStore
from shared.enrich.attachments.keep_files import bounds_of
from shared.postgres.pool import connection
from shared.sources import run_records
from shared.sources.intake import attachment_file, metadata_sidecar
from workers.adapters.kit.keeping import TENANT, Keeping
from workers.adapters.kit.stub import StubFile

CAP_BYTES = 1000
_FILES = (
    StubFile("twin.txt", b"one"),
    StubFile("twin.txt", b"two"),
    StubFile("../../etc/passwd", b"odd"),
    StubFile('a "quoted" Größe.txt', b"odd"),
    StubFile("line\rend.txt", b"odd"),
    StubFile("gone.txt", b"", missing=True),
    StubFile("large.txt", b"x" * (CAP_BYTES + 1)),
    StubFile("elsewhere.txt", b"far", foreign=True),
)
# What becomes of those that are not to be had.
_OTHERWISE = {"gone": {"failed"}, "large": {"linked", "failed"}}
EXTRA = {"operator": "Ilse", "beam_current": 401}
_EXTRA_AS_STORED = {"operator": "Ilse", "beam_current": "401"}


def attachments(keeping: Keeping) -> None:
    """ADP22: names that collide or lie, files that are elsewhere, gone or too large."""
    told = _held(keeping)
    assert told, "the stub holds no file at all"
    external_id = keeping.add(*keeping.some(1, files=tuple(told)))[0]
    keeping.load()
    with keeping.stock() as stock:
        entry = stock.entry(external_id)
        stored = stock.attachments()
    names = [one["filename"] for one in stored]
    # Two of one name at one address are one file.
    assert len({file.filename for file in told}) <= len(stored) <= len(told), names
    assert all(names), "a file has a name"
    _fetch(keeping, entry.id)
    with keeping.stock() as stock:
        for one in stock.attachments():
            expected = _expected(keeping, one["filename"], one["url"])
            assert one["state"] in expected, (
                f"{one['filename']!r} of {one['url']} is {one['state']}, asked were"
                f" {list(keeping.stub.requests())[-len(stored) :]}"
            )


def _fetch(keeping: Keeping, entry_id: UUID) -> None:
    """Fetch the files of an entry as the stage does, into a folder of its own."""
    opened = keeping.open(**keeping.changes)
    fetch = functools.partial(
        attachment_file.open_attachment, opened.adapter, opened.io
    )
    with connection(keeping.pool) as conn:
        due = attachment_states.list_due_files(conn, TENANT, entry_id)
    with TemporaryDirectory() as folder:
        means = fetch_files.Means(
            keeping.pool, FileStore(folder), bounds_of(keeping.limits), CAP_BYTES, 50
        )
        outcome = fetch_files.fetch_all(means, due, fetch, begin_until=float("inf"))
    assert outcome.error is None, outcome.error


def _expected(keeping: Keeping, name: str, url: str | None) -> set[str]:
    if _is_foreign(keeping, url):
        return {"linked"}
    for file, states in _OTHERWISE.items():
        if file in name:
            return states
    return {"stored"}


def _is_foreign(keeping: Keeping, url: str | None) -> bool:
    settings = keeping.configured()
    own = [one for one in (settings.base_url, *settings.allowed_origins) if one]
    hosts = {urlsplit(one).netloc for one in own}
    return url is not None and urlsplit(url).netloc not in hosts


def _held(keeping: Keeping) -> list[StubFile]:
    """Return those of the files that this source can have beside an entry."""
    with keeping.anew() as one:
        added: dict[str, StubFile] = {}
        for file in _FILES:
            try:
                added[one.stub.add(one.some(1, files=(file,))[0])] = file
            except LookupError:
                # Such a file is nothing that its source can have.
                continue
        items, adapter = one.items(), one.open().adapter
        return [
            file
            for external_id, file in added.items()
            if adapter.parse(items[external_id]).attachments
        ]


def every_kind_of_run(keeping: Keeping) -> None:
    """ADP32: each kind of run stores equal rows, metadata.json merged, and a row."""
    extra = StubFile("Metadata.JSON", json.dumps(EXTRA).encode())
    entries = [
        *(keeping.fresh(text=f"Text {number}") for number in range(3)),
        keeping.fresh(title="With a file", files=(extra,)),
    ]
    keeping.add(*entries)
    kinds = [run_records.BACKFILL, run_records.TAIL]
    can = keeping.open().capabilities
    if {can.edits, can.deletes} & {"index", "rescan"}:
        kinds.append(run_records.RECONCILE)
    found: dict[str, list[tuple[Any, ...]]] = {}
    for kind in kinds:
        with keeping.under_another_name() as other:
            run = other.run(kind)
            assert run.error is None, run.error
            assert run.added == len(entries), f"{kind} has added {run.added}"
            found[kind] = _entries(other)
            _check_merged(other)
            asked = len(other.stub.requests())
            run = other.run(run_records.REPARSE)
            assert len(other.stub.requests()) == asked, "a reparse asks nobody"
            assert run.error is None, run.error
            assert (run.added, run.updated) == (0, 0), f"{run.updated} read otherwise"
            assert run.unchanged == len(entries)
            assert _entries(other) == found[kind]
    first = found[run_records.BACKFILL]
    assert all(one == first for one in found.values()), "the kinds of run differ"


def _check_merged(keeping: Keeping) -> None:
    """Hold an entry that has a metadata.json to what that file says."""
    with keeping.stock() as stock:
        entries = {one.external_id: one for one in stock.entries()}
        named = [
            (one["external_id"], one["url"])
            for one in stock.attachments()
            if one["filename"].lower() == metadata_sidecar.NAME
        ]
    can = keeping.open().capabilities
    assert named or can.attachments == "none", "no metadata.json came with its entry"
    for external_id, url in named:
        entry = entries[external_id]
        if _is_foreign(keeping, url):
            assert metadata_sidecar.FLAG in entry.flags, "what is not fetched is told"
            continue
        merged = {key: entry.metadata.get(key) for key in _EXTRA_AS_STORED}
        assert merged == _EXTRA_AS_STORED, f"{merged} of {EXTRA} is merged"
        assert metadata_sidecar.FLAG not in entry.flags


def _entries(keeping: Keeping) -> list[tuple[Any, ...]]:
    with keeping.stock() as stock:
        return [
            (
                one.external_id,
                one.title,
                one.text,
                one.entry_time,
                one.fields,
                one.metadata,
                one.flags,
            )
            for one in stock.entries()
        ]
