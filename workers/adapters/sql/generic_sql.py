"""A logbook that is reachable only as tables: queries of the settings, read only."""

import json
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any, ClassVar, Literal, Self, cast

from shared.adapter_contract.contract import (
    AdapterCapabilities,
    AdapterDescriptor,
    AdapterPage,
    Cursor,
    IdStamp,
    RawItem,
    Recognition,
    Source,
    SourceIO,
    SourceReport,
    Window,
)
from shared.adapter_contract.entry import Entry
from shared.adapter_contract.mapped_record import MappedRecord
from shared.errors import IngestionError, MalformedEntryError
from shared.times.rfc3339 import read_cursor_time
from workers.adapters.mapping.field_map import FieldMap
from workers.adapters.mapping.map_settings import canonical
from workers.adapters.sql import drivers
from workers.adapters.sql.bounds import AHEAD, RowBounds
from workers.adapters.sql.dialects import Database, StatementLimits
from workers.adapters.sql.rows import RowReader, SqlRow
from workers.adapters.sql.settings import SQLArgs
from workers.adapters.sql.statement import Statement

_VERSION = 1
_FIRST = datetime(1900, 1, 1, tzinfo=UTC)
_LAST = datetime(2200, 1, 1, tzinfo=UTC)
_SAMPLE = 10
# What a query ends with that answers no more than so many rows.
_OWN_LIMIT = re.compile(
    r"\b(?:limit\s+(\d+)|fetch\s+(?:first|next)\s+(\d+)\s+rows?\s+only)\s*;?\s*\Z",
    re.IGNORECASE,
)


@dataclass(slots=True)
class _Reached:
    """How far a walk has come, with the ids of the rows of its last moment."""

    at: datetime | None
    ids: set[str]

    def knows(self, row: SqlRow) -> bool:
        """Tell whether a row has come before in this walk."""
        if row.at is not None and self.at is not None and row.at < self.at:
            return True
        return row.raw.external_id in self.ids

    def take(self, rows: list[SqlRow]) -> None:
        """Move on behind these rows."""
        newest = max((row.at for row in rows if row.at), default=None)
        if newest is not None and (self.at is None or newest > self.at):
            self.at, self.ids = newest, set()
        here = {row.raw.external_id for row in rows if row.at in {None, self.at}}
        self.ids |= here


class GenericSQL:
    """Reads rows by the time of their last change, and deletions by a listing."""

    descriptor: ClassVar[AdapterDescriptor] = AdapterDescriptor(
        name="generic_sql",
        title="SQL database",
        version=1,
        capabilities=AdapterCapabilities(
            order="modified_asc",
            edits="cursor",
            deletes="index",
            replies="parent",
            attachments="by_url",
            readers="entry",
            windows=True,
        ),
        args=SQLArgs,
        naive_times=True,
        max_concurrency=1,
        place="none",
    )

    def __new__(cls, source: Source, io: SourceIO) -> Self:
        """Be of the kind that has what the settings have a query for."""
        del io
        args: SQLArgs = source.args
        if args.ids_query is None:
            kind = _RowsOnly if args.row_query is None else _WithoutListing
            return cast("Self", object.__new__(kind))
        return super().__new__(cls)

    def __init__(self, source: Source, io: SourceIO) -> None:
        self._source = source
        self._io = io
        self.args: SQLArgs = source.args
        self._map = FieldMap.of(source, self.args)
        self._reader = RowReader(source, self.args, self._map)
        self._query = Statement(self.args.query)
        self._bounds = RowBounds(self.args, source.timezone)
        self._overlap = timedelta(seconds=source.overlap_seconds)
        self._stamps: dict[str, str | None] | None = None

    @property
    def capabilities(self) -> AdapterCapabilities:
        """Return the capabilities of this source, as its settings have them."""
        args = self.args
        named = {canonical(name) for name in args.map}
        is_modified = args.since_is == "modified"
        without: Literal["flagged", "invisible"]
        without = "flagged" if "deleted" in named else "invisible"
        return replace(
            self.descriptor.capabilities,
            order="modified_asc" if is_modified else "created_asc",
            edits="cursor" if is_modified else "index" if args.ids_query else "rescan",
            deletes="index" if args.ids_query else without,
            replies="parent" if "reply_to" in named else "none",
            attachments="by_url" if "attachments" in named else "none",
            readers="entry" if "readers" in named else "none",
            windows="until" in self._query.parameters,
        )

    def pages(
        self, since: Cursor | None, window: Window | None = None
    ) -> Iterator[AdapterPage]:
        """Yield rows from the cursor on; each page is a transaction of its own."""
        began = self._io.now()
        kept = _since(since)
        lower = self._lower(kept, window)
        upper = (window.end if window else None) or _LAST
        reached = _Reached(None, set())
        limit = self._source.page_size + 1
        while not self._io.is_cancelled():
            rows, is_end = self._read(lower, upper, reached, limit)
            if not rows and not is_end:
                # All of them were known: so many share their second.
                limit *= 2
                continue
            reached.take(rows)
            if reached.at is not None:
                # Whatever its rows claim, it never passes now (AD-08).
                safe = min(reached.at, began - self._overlap)
                kept = max(safe, kept) if kept else safe
            yield AdapterPage(
                items=tuple(row.raw for row in rows),
                cursor=_cursor(kept),
                complete_to=began if is_end else None,
            )
            if is_end:
                return
            lower = self._next_lower(reached, lower)

    def parse(self, raw: RawItem) -> Entry:
        """Return the entry of a row."""
        if not isinstance(raw.payload, dict):
            raise MalformedEntryError("A row is an object.", reason="wrong_type")
        record, flags = self._reader.record(raw.payload)
        return self._map.entry(record, raw.external_id, flags=flags)

    def look_up(self, raw: RawItem) -> MappedRecord:
        """Return the columns of a row, and those that it lacks of the settings."""
        return self._map.look_up(self._reader.record(raw.payload)[0], self.args)

    def list_ids(self, window: Window | None) -> Iterator[IdStamp]:
        """Yield every id of the source, whatever the window."""
        del window
        self._stamps = None
        return self._ids()

    def fetch(self, external_id: str) -> RawItem | None:
        """Return the row of an id, by its own query or from its stamp on."""
        if self.args.row_query is None:
            return self._found(external_id)
        statement = Statement(self.args.row_query)
        with self._database().rows(statement, {"id": external_id}) as answer:
            names = self._reader.names(answer.columns)
            for values in islice(answer.rows, 1):
                item = self._reader.row(names, values, self._io.now()).raw
                return replace(item, external_id=external_id)
        return None

    def check(self) -> SourceReport:
        """Read a few rows and the listing, and try what the login could write."""
        problems = []
        database = self._database()
        if writable := database.writable():
            problems.append(
                f"The login could write ({writable}); one with SELECT alone is enough."
            )
        rows, _ = self._read(_FIRST, _LAST, _Reached(None, set()), _SAMPLE)
        for row in rows[:_SAMPLE]:
            try:
                self.parse(row.raw)
            except MalformedEntryError as exc:
                problems.append(exc.message)
        count, newest, unstamped = self._listed()
        if unstamped:
            problems.append(
                f"{unstamped} rows have no {self.args.since_column}: only the listing"
                " of ids sees them."
            )
        if count and not rows:
            problems.append(
                f"There are {count} ids, and the query finds no row: a column of"
                " numbers needs `unit`, one of texts `time_format`."
            )
        return SourceReport(
            newest=newest, entries=count, problems=tuple(dict.fromkeys(problems))
        )

    @classmethod
    def recognise(cls, url: str, io: SourceIO) -> Recognition | None:
        """Tell a database by the scheme of its address; nothing is asked."""
        del io
        scheme = drivers.scheme_of(url)
        if scheme is None:
            return None
        return Recognition(
            settings={"adapter": cls.descriptor.name},
            confidence=0.9,
            why=f"The address is one of a database ({scheme}).",
            asks=(
                *("timezone", "args.dsn", "args.query", "args.since_column"),
                "args.map",
            ),
        )

    def _database(self) -> Database:
        limits = StatementLimits(
            self._source.request_timeout_seconds, self.args.rows_per_fetch
        )
        return Database(drivers.dialect_of(self._io.secret(self.args.dsn)), limits)

    def _lower(self, kept: datetime | None, window: Window | None) -> datetime:
        floor = (window.start if window else None) or self._source.history_start
        if kept is None:
            return floor or _FIRST
        at = kept - self._overlap
        return max(at, window.start) if window and window.start else at

    def _next_lower(self, reached: _Reached, before: datetime) -> datetime:
        if reached.at is None:
            raise IngestionError(
                f"{self.args.since_column} of the rows is no time that can be read;"
                " numbers may need `unit`, texts `time_format`.",
                reason="unexpected_shape",
            )
        return max(reached.at, before)

    def _read(
        self, lower: datetime, upper: datetime, reached: _Reached, limit: int
    ) -> tuple[list[SqlRow], bool]:
        """Return a page of new rows, and whether it is the last one."""
        database = self._database()
        values = {
            "since": self._bounds.lower(database.dialect, lower),
            "until": self._bounds.upper(database.dialect, upper),
            "limit": limit,
        }
        fetched_at = self._io.now()
        found: list[SqlRow] = []
        came = 0
        last: datetime | None = None
        with database.rows(self._query, values) as answer:
            names = self._reader.names(answer.columns)
            for came, row_values in enumerate(answer.rows, 1):  # noqa: B007 - counts them
                row = self._reader.row(names, row_values, fetched_at)
                last = self._in_order(row, last)
                if reached.knows(row):
                    continue
                if len(found) == self._source.page_size:
                    return found, False
                found.append(row)
        if "limit" in self._query.parameters:
            return found, came < limit
        own = _OWN_LIMIT.search(self.args.query)
        is_end = own is None or came < int(own[1] or own[2])
        if not (found or is_end):
            raise IngestionError(
                f"The {came} rows that the query's own limit lets through are all known"
                " by now, and more may follow: end it with `LIMIT :limit`, or without.",
                reason="unexpected_shape",
            )
        return found, is_end

    def _in_order(self, row: SqlRow, last: datetime | None) -> datetime | None:
        if row.at is None:
            return last
        if last is not None and row.at < last:
            raise IngestionError(
                f"The rows are not in ascending order of {self.args.since_column};"
                " let the query ORDER BY it.",
                reason="unexpected_shape",
            )
        return row.at

    def _ids(self) -> Iterator[IdStamp]:
        """Yield the listing, kept in a file so that the database is soon let go."""
        statement = Statement(self.args.ids_query or "")
        with tempfile.TemporaryFile("w+", encoding="utf-8") as lines:
            with self._database().rows(statement, {}) as answer:
                for values in answer.rows:
                    known = [self._reader.text(value) for value in values[:2]]
                    lines.write(f"{json.dumps(known)}\n")
            lines.seek(0)
            for line in lines:
                external_id, *stamps = json.loads(line)
                if external_id is not None:
                    yield IdStamp(external_id, stamps[0] if stamps else None)

    def _found(self, external_id: str) -> RawItem | None:
        """Look for a row from its stamp on; without a stamp no query reaches it."""
        if self._stamps is None:
            self._stamps = {one.external_id: one.stamp for one in self._ids()}
        at = self._reader.moment(self._stamps.get(external_id))
        if at is None:
            return None
        database = self._database()
        upper = at + max(self._overlap, AHEAD)
        values = {
            "since": self._bounds.lower(database.dialect, at),
            "until": self._bounds.upper(database.dialect, upper),
            "limit": 100 * self._source.page_size,
        }
        with database.rows(self._query, values) as answer:
            names = self._reader.names(answer.columns)
            for row_values in answer.rows:
                row = self._reader.row(names, row_values, self._io.now())
                if row.raw.external_id == external_id:
                    return row.raw
                if row.at is not None and row.at > upper:
                    break
        return None

    def _listed(self) -> tuple[int | None, datetime | None, int]:
        """Return how many ids there are, the newest stamp, and how many have none."""
        if self.args.ids_query is None:
            return None, None, 0
        count = unstamped = 0
        newest: datetime | None = None
        for one in self._ids():
            count += 1
            at = self._reader.moment(one.stamp)
            unstamped += one.stamp is None
            newest = max(at, newest) if at and newest else at or newest
        return count, newest, 0 if newest is None else unstamped


class _WithoutListing(GenericSQL):
    """Without a query of ids; None is how a class says that it lacks a method."""

    list_ids = None  # type: ignore[assignment]


class _RowsOnly(_WithoutListing):
    """Without a query of one row, too."""

    fetch = None  # type: ignore[assignment]


def _since(cursor: Cursor | None) -> datetime | None:
    if cursor is None or cursor.get("v") != _VERSION:
        return None
    return read_cursor_time(cursor.get("since"))


def _cursor(since: datetime | None) -> dict[str, Any]:
    return {"v": _VERSION} | ({"since": since.isoformat()} if since else {})
