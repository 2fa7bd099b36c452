"""CSV files of any facility: a row is an entry, by a map of its columns."""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any, ClassVar, Literal

from pydantic import Field

from shared.adapter_contract.contract import (
    AdapterDescriptor,
    RawItem,
    Recognition,
    Source,
    SourceIO,
)
from shared.adapter_contract.entry import Entry
from workers.adapters.files.csv_rows import CSVForm, Dialect
from workers.adapters.files.first_record import first_record, list_fields
from workers.adapters.files.generic_json import FIELDS
from workers.adapters.files.mapped_files import FileArgs, MappedFiles, describe
from workers.adapters.files.utf8_text import OVERSIZED_KEPT, most_line_bytes
from workers.adapters.mapping.field_map import FieldMap
from workers.adapters.mapping.field_values import malformed
from workers.adapters.mapping.map_settings import (
    FieldSelectors,
    Selector,
    by_field,
    each,
)

_KINDS = {
    "integer": re.compile(r"[+-]?\d++", re.ASCII),
    # With a point or a comma, thousands apart, and an exponent.
    "number": re.compile(r"[+-]?[\d.,' ]++(?:[eE][+-]?\d++)?", re.ASCII),
}
_MOST_DIGITS = 64
_SUFFIX = re.compile(r"\.(?:csv|tsv)(?:\.gz)?$", re.IGNORECASE)
_DELIMITERS = (",", ";", "\t", "|")
_REPLACEMENT = "\ufffd"


class CSVArgs(FileArgs):
    """How the rows of a CSV file are found and read."""

    columns: FieldSelectors = Field({})
    """Field of an entry to its column; the same as `map`."""
    id_columns: tuple[str, ...] = ()
    """Columns that make up the id; none: a hash of the row."""
    types: dict[str, Literal["integer", "number"]] = Field({})
    """Columns whose values must be such, or the row is quarantined."""
    header: tuple[str, ...] = ()
    """Names of the columns, where the file has no header line."""
    delimiter: str = Field(",", min_length=1, max_length=1, description="Of fields.")
    quotechar: str = Field('"', min_length=1, max_length=1)
    """Around fields with delimiters."""
    encoding: str | None = None
    """Charset of what is not UTF-8; none: it is guessed."""

    def places(self) -> Iterator[tuple[str, str]]:
        """Yield those of the map, and those that are a CSV file's alone."""
        yield from super().places()
        for field, selector in self.columns.items():
            for column in each(selector):
                yield f"columns.{field}", column
        for column in self.id_columns:
            yield "id_columns", column
        for column in self.types:
            yield "types", column

    def own_id(self) -> Selector:
        """Return the columns that make it up."""
        return self.id_columns or by_field({**FIELDS, **self.columns})["external_id"]


class GenericCSV(MappedFiles):
    """Files of delimited rows under a header."""

    descriptor: ClassVar[AdapterDescriptor] = describe(
        "generic_csv", "CSV files", CSVArgs
    )

    def __init__(self, source: Source, io: SourceIO) -> None:
        args = source.args if isinstance(source.args, CSVArgs) else CSVArgs()
        self._types = args.types
        self._most_line = most_line_bytes(source.max_entry_bytes)
        fields = {**FIELDS, **args.columns}
        if args.id_columns:
            fields["external_id"] = args.id_columns
        dialect = Dialect(args.delimiter, args.quotechar, args.encoding, args.header)

        def now() -> datetime:
            # Asked when a file is read: a constructor does no I/O.
            return io.now()

        form = CSVForm(dialect, now, self._most_line)
        super().__init__(source, io, args, form, FieldMap.of(source, args, fields))

    def parse(self, raw: RawItem) -> Entry:
        """Return the entry of a row, or name the line that is none."""
        row: Any = raw.payload
        where = f"Line {(raw.url or '').rpartition('=')[2] or '?'}"
        if isinstance(row, bytes) and len(row) == OVERSIZED_KEPT:
            malformed("too_large", f"{where} is longer than {self._most_line} bytes.")
        if isinstance(row, bytes):
            malformed("field_count", f"{where} has not the fields of its header.")
        if not isinstance(row, dict):
            malformed("wrong_type", f"{where} is no row.")
        for column, kind in self._types.items():
            value = row.get(column)
            if isinstance(value, str) and value.strip():
                self._check(value.strip(), column, kind, where)
        flags: tuple[str, ...] = ()
        if raw.charset is not None:
            is_repaired = any(_REPLACEMENT in str(value) for value in row.values())
            flags = ("charset_guess", *(("repaired",) if is_repaired else ()))
        return self._map.entry(row, raw.external_id, flags=flags)

    @classmethod
    def recognise(cls, url: str, io: SourceIO) -> Recognition | None:
        """Recognise a path by its suffix, and by a header that fits its rows."""
        if not _SUFFIX.search(url):
            return None
        for delimiter in _DELIMITERS:
            found = first_record(url, io, CSVForm(Dialect(delimiter), io.now))
            if found and isinstance(found[1], dict) and len(found[1]) > 1:
                given = {"delimiter": delimiter} if delimiter != "," else {}
                return Recognition(
                    settings={"path": url, "args": given},
                    confidence=0.7,
                    why=f"{found[0]} has the columns {list_fields(found[1])}",
                    asks=("args.columns", "timezone"),
                )
        return None

    def _check(self, value: str, column: str, kind: str, where: str) -> None:
        is_one = len(value) <= _MOST_DIGITS and _KINDS[kind].fullmatch(value)
        if not is_one or not any(each.isdigit() for each in value):
            malformed("wrong_type", f"{column!r} in {where.lower()} is no {kind}.")
