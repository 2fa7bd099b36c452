"""The corpus of bad input through an adapter: each row costs itself, or is mended."""

import json
import os
from pathlib import Path

import pytest

from shared.postgres.pool import connection
from shared.settings.source_sections import SourceSettings
from tests.contract import corpus
from tests.contract.corpus import Row
from tests.support.fixtures.sources import Runtime

NAME = "pulled"
AT = "2026-03-02T05:10:00Z"
FIELDS = ("external_id", "entry_time", "title", "text", "author", "kind", "tags")
ROWS = [row for row in corpus.ENTRIES if row.body]
# Whatever else a row holds, it is stored.
ASIDE = {
    "NUL in entry_time": "time_unreadable",
    "in a key": "empty_entry",
    "UTF-16 with a mark": "not_json",
    # As a line it has no time of its own.
    "UTF-8 with a mark": "time_missing",
    "cut in a character": "not_json",
    "5000 digits": "not_json",
    "100,000 deep": "not_json",
    "no JSON": "not_json",
    "a list": "wrong_type",
    "a number": "wrong_type",
    "null": "not_json",
    "256 characters": "external_id",
    "20,000 characters": "external_id",
    "time 2026-03-02T05:10:00": "naive_time",
    "time 2026-03-02": "naive_time",
    "time ": "time_missing",
    **dict.fromkeys(
        (
            "time 2026-02-30T00:00:00Z",
            "time 2026-13-01T00:00:00Z",
            "time 2026-03-02T24:30:00Z",
            "time yesterday",
        ),
        "time_unreadable",
    ),
    **{
        row.name: "time_out_of_range"
        for row in corpus.TIMES
        if row.code == "time_out_of_range"
    },
}
# What is stored of these is not what was sent, or was guessed.
FLAGS = {
    **{row.name: ["repaired"] for row in (*corpus.NUL, *corpus.SURROGATES)},
    **{row.name: ["charset_guess"] for row in corpus.ENCODINGS},
    "a whole pair": [],
    "written raw": ["charset_guess"],
}


def line_of(row: Row) -> bytes:
    """Return the row as a line of a file, with an id and a time unless it has one."""
    named = {"external_id": row.name, "entry_time": AT}
    own = [name for name in named if f'"{name}"'.encode() in row.body]
    added = json.dumps({name: named[name] for name in named if name not in own})
    if row.body.startswith(b"{") and len(own) < len(named):
        return added[:-1].encode() + b"," + row.body[1:]
    return row.body


def configure(runtime: Runtime, path: Path) -> None:
    source = SourceSettings.model_validate(
        {
            "adapter": "generic_json",
            "path": str(path),
            "require_initial_ingest": False,
            "args": {"map": {name: name for name in (*FIELDS, "metadata")}},
        }
    )
    runtime.add_source(NAME, source)


@pytest.mark.requirement("B1", "B2", "B3", "B4", "B9", "B10")
def test_a_row_of_the_corpus_costs_itself_and_has_its_verdict_twice(runtime, tmp_path):
    path = tmp_path / "log.jsonl"
    lines: list[bytes] = []
    for place, row in enumerate(ROWS):
        good = {"external_id": f"good {place}", "entry_time": AT, "text": "Good"}
        lines += [line_of(row), json.dumps(good).encode()]
    path.write_bytes(b"\n".join(lines) + b"\n")
    configure(runtime, path)

    run = runtime.run(NAME)

    assert run.error is None
    stored = len(ROWS) - len(ASIDE)
    assert (run.added, run.quarantined) == (len(ROWS) + stored, len(ASIDE))
    kept = flags_of(runtime)
    assert {f"good {place}" for place in range(len(ROWS))} <= kept.keys()
    for row in ROWS:
        if row.name in kept:
            assert row.name not in ASIDE
            assert kept[row.name] == FLAGS.get(row.name, []), row.name
    assert sorted(reasons(runtime)) == sorted(ASIDE.values())
    # The same once more, as a file that somebody has touched.
    os.utime(path, (0, 0))
    again = runtime.run(NAME)
    assert (again.error, again.added, again.updated) == (None, 0, 0)
    assert flags_of(runtime) == kept
    assert sorted(reasons(runtime)) == sorted(ASIDE.values())


def flags_of(runtime: Runtime) -> dict[str, list[str]]:
    """Return the flags of what is stored, by its id."""
    with connection(runtime.pool) as conn:
        found = conn.execute("SELECT external_id, flags FROM entry").fetchall()
    return dict(found)


def reasons(runtime: Runtime) -> list[str]:
    """Return why each was quarantined that was, with what was received."""
    with connection(runtime.pool) as conn:
        found = conn.execute(
            "SELECT error -> 'details' ->> 'reason' FROM quarantine"
            " WHERE raw IS NOT NULL AND excerpt IS NOT NULL"
        ).fetchall()
    return [row[0] for row in found]
