"""Writes all matches as a file, in memory that does not grow with it.

The ids are found at once and kept by Postgres, outside of any transaction, so that a
slow reader holds nothing back; entries are read as they are sent, with the rights of
then.
"""

import threading
from collections.abc import Iterator, Sequence
from typing import Any, LiteralString
from uuid import UUID

from psycopg import Connection, ServerCursor

from shared.errors import LogchordError
from shared.log import get_logger
from shared.postgres.pool import translate_database_errors
from shared.search.export import formats
from shared.search.export.formats import Format
from shared.search.jobs.outcome import list_cuts
from shared.search.query.plan import Plan
from shared.search.results.hydrate import hydrate
from shared.search.retrieval.engines import branch_query
from shared.search.retrieval.module_contract import Ask, Lexicon
from shared.search.retrieval.modules import match_sql, newest

log = get_logger()

# Read at once; fewer where they are long.
ROWS_AT_ONCE = 500
BYTES_AT_ONCE = 4_000_000
_READ_MS = 10_000
_CURSOR = "matched_entries"

_IDS: LiteralString = """
    SELECT m.id, octet_length(r.text) + octet_length(r.title)
                 + octet_length(e.metadata::text)
      FROM matched m
      JOIN entry e ON e.id = m.id AND e.tenant = %(tenant)s
      JOIN revision r ON r.entry_id = m.id AND r.number = m.revision
     WHERE r.tenant = %(tenant)s
     ORDER BY """
# As the pages of a list have them.
_NEWEST: LiteralString = (
    _IDS + "m.entry_time >= %(ahead)s, m.entry_time DESC, m.id DESC"
)
_OLDEST: LiteralString = _IDS + "m.entry_time, m.id"


class Export:
    """Writes one file of matches; whoever opens an export must close it."""

    def __init__(self, conn: Connection, plan: Plan, form: Format) -> None:
        self._conn = conn
        self._plan = plan
        self._form = form
        self._ids: ServerCursor | None = None
        # The codes of diagnostics that say what was left out of the question.
        self._cut = list_cuts(plan.diagnostics)

    def find(self, ask: Ask, lexicon: Lexicon) -> None:
        """Find the ids of all matches before anything is sent: errors come here."""
        plan = self._plan
        if not plan.branches:
            # A question without words and filters matches nothing.
            return
        asked = branch_query.build_branch_query(ask, lexicon, "export")
        self._cut = list_cuts((*plan.diagnostics, *asked.diagnostics))
        if plan.asks_for_words and not asked.question.finds:
            return
        rest = _OLDEST if plan.sort == "oldest" else _NEWEST
        statement = match_sql.statement(rest, by_words=plan.asks_for_words)
        given = match_sql.params(asked, asked.question)
        given["ahead"] = newest.find_last_part(plan)
        # The commit runs the query of a held cursor, and no limit of a statement
        # bounds it, so a timer does.
        watch = threading.Timer(ask.budget_seconds, self._conn.cancel)
        watch.start()
        try:
            with translate_database_errors(), self._conn.transaction():
                self._ids = self._conn.cursor(_CURSOR, withhold=True)
                self._ids.execute(statement, given)
        finally:
            watch.cancel()

    def parts(self) -> Iterator[str]:
        """Yield the file in parts; where it breaks off, its last record says so."""
        rows = 0
        error = None
        yield formats.heading(self._form)
        try:
            for ids in self._batches():
                lines = self._lines(ids)
                rows += len(lines)
                yield "".join(lines)
        except LogchordError as exc:
            # The file has begun: its last record tells that it broke off.
            log.warning("export_broke_off", code=exc.error_code, rows=rows)
            error = exc.body()["error"]
        yield formats.ending(self._form, rows, error, cut=self._cut)

    def close(self) -> None:
        """Close the connection, with which Postgres forgets the ids."""
        self._conn.close()
        if self._ids is not None:
            # The connection is closed: this frees the driver's cursor alone.
            self._ids.close()

    def _batches(self) -> Iterator[list[UUID]]:
        batch: list[UUID] = []
        size = 0
        for found in iter(self._fetched, []):
            for entry_id, bytes_long in found:
                if batch and size + bytes_long > BYTES_AT_ONCE:
                    yield batch
                    batch, size = [], 0
                batch.append(entry_id)
                size += bytes_long
            yield batch
            batch, size = [], 0

    def _fetched(self) -> list[Any]:
        if self._ids is None:
            return []
        with translate_database_errors():
            return self._ids.fetchmany(ROWS_AT_ONCE)

    def _lines(self, ids: Sequence[UUID]) -> list[str]:
        """Return the entries that are still there for the caller, in their order."""
        scope = self._plan.scope
        with translate_database_errors(), self._conn.transaction():
            rows = hydrate(self._conn, ids, scope, _READ_MS)
        return [
            formats.line(self._form, formats.record(scope.tenant, rows[entry_id]))
            for entry_id in ids
            if entry_id in rows
        ]
