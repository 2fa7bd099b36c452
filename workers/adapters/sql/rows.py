"""From the rows of a statement to items, under the names that the settings use."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from shared.adapter_contract.contract import RawItem, Source
from shared.errors import IngestionError, MalformedEntryError
from workers.adapters.mapping.field_map import FieldMap
from workers.adapters.mapping.field_values import hash_id
from workers.adapters.mapping.map_settings import (
    LISTS,
    METADATA,
    Times,
    canonical,
    each,
)
from workers.adapters.sql import values as sql_values
from workers.adapters.sql.settings import SQLArgs


@dataclass(frozen=True, slots=True)
class SqlRow:
    """One row as an item, and the moment by which rows are ordered."""

    raw: RawItem
    at: datetime | None


class RowReader:
    """Makes items of rows; columns are found whatever their case."""

    def __init__(self, source: Source, args: SQLArgs, field_map: FieldMap) -> None:
        self._args = args
        self._map = field_map
        self._times = Times.of(source, args)
        self._most = source.max_entry_bytes
        mapped = {name for selector in args.map.values() for name in each(selector)}
        self._mapped: Collection[str] = frozenset(mapped)
        self._structured: Collection[str] = frozenset(
            name
            for field, selector in args.map.items()
            if canonical(field) in {*LISTS, METADATA.rstrip(".")}
            for name in each(selector)
        )
        # Databases have their own idea of the case of a name.
        self._named = {name.lower(): name for name in {*mapped, args.since_column}}

    def names(self, columns: Collection[str]) -> tuple[str, ...]:
        """Return the columns as the settings call them; the one of :since is there."""
        named = tuple(self._named.get(name.lower(), name) for name in columns)
        if self._args.since_column not in named:
            raise IngestionError(
                f"The query does not return {self._args.since_column}.",
                reason="statement_refused",
            )
        return named

    def row(
        self, names: Collection[str], values: tuple[Any, ...], fetched_at: datetime
    ) -> SqlRow:
        """Return a row as an item."""
        most = self._most
        payload = {
            name: sql_values.as_json(value, most)
            for name, value in zip(names, values, strict=True)
        }
        found = payload.get(self._args.since_column)
        raw = RawItem(
            self._id(payload),
            payload,
            fetched_at=fetched_at,
            stamp=str(found) if self._args.ids_query and found is not None else None,
        )
        return SqlRow(raw, self.moment(found))

    def record(
        self, payload: Mapping[str, Any]
    ) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Return a payload as what an entry is read from, and flags."""
        return sql_values.record_of(payload, self._mapped, self._structured)

    def moment(self, value: Any) -> datetime | None:
        """Return the moment of a stamp; None where it has no place in the order."""
        try:
            moment = self._times.read(value)
        except MalformedEntryError:
            # `parse` rejects it, if the column is a time of the entry.
            return None
        if moment is None or "time_nonexistent" in moment.flags:
            return None
        return moment.at

    def text(self, value: Any) -> str | None:
        """Return an id or a stamp of the listing as it stands in an item."""
        record, _ = sql_values.record_of(
            {"id": sql_values.as_json(value, self._most)}, {"id"}
        )
        found = record.get("id")
        return None if found is None else str(found)

    def _id(self, payload: Mapping[str, Any]) -> str:
        record, _ = self.record(payload)
        try:
            return self._map.external_id(record) or hash_id(dict(payload))
        except (RecursionError, ValueError):
            return hash_id(repr(sorted(payload)).encode())
