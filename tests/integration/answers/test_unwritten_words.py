"""Whether a word stands in any entry is read by the index of words."""

from __future__ import annotations

import re

import psycopg

from bench import work_rows
from shared.access.scope import Scope
from shared.answers.evidence.unwritten_words import WRITTEN

ENTRIES = 20_000
SCOPE = Scope(work_rows.TENANT, "anna")


def test_a_logbook_of_any_size_is_not_walked_through_for_a_word(database: str) -> None:
    work_rows.ensure_entries(database, ENTRIES)
    given = {"asked": ["'beam'", "'giraffe'", "'numbat'"], **SCOPE.params}
    # It is planned once a connection, whatever is asked for.
    names = [*given]
    planned = re.sub(
        r"%\((\w+)\)s", lambda found: f"${1 + names.index(found[1])}", WRITTEN
    )
    with psycopg.connect(database) as conn:
        conn.execute(
            "INSERT INTO entry_text (entry_id, tenant, revision, language,"
            "                        analyser_version, stream, idents, tsv)"
            " SELECT id, tenant, 1, 'en', 1, '', '{}',"
            "        to_tsvector('simple', 'beam lost ' || id)"
            "   FROM entry ON CONFLICT DO NOTHING"
        )
        conn.execute("ANALYZE entry, entry_text")
        found = conn.execute(f"EXPLAIN (GENERIC_PLAN, COSTS OFF) {planned}".encode())
        told = "\n".join(str(row[0]) for row in found)
        rows = conn.execute(WRITTEN, given).fetchall()

    assert "entry_text_tsv" in told
    assert "Seq Scan" not in told, told
    assert rows == [(1,)]
