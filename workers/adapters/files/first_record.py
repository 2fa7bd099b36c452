"""The first record of the first file at a path, by which its form is recognised."""

from typing import Any

from shared.adapter_contract.contract import Recognition, SourceIO
from shared.errors import IngestionError
from workers.adapters.files.file_progress import HEAD_BYTES, FileMark
from workers.adapters.files.json_records import JSONForm
from workers.adapters.files.walk import Format

_MOST_SHOWN = 1000


def first_record(url: str, io: SourceIO, form: Format) -> tuple[str, Any] | None:
    """Return the name of the first file and its first record, if it is of this form."""
    if "://" in url:
        return None
    try:
        names = io.files.names()
        if not names:
            return None
        with io.files.open(names[0]) as stream:
            first = stream.read(HEAD_BYTES)
        start = FileMark.start(io.files.stat(names[0]))
        with io.files.open(names[0]) as stream:
            records = form.records(names[0], stream, first, start)
            record = next(iter(records), None)
    except IngestionError:
        return None
    return None if record is None else (names[0], record.payload)


def list_fields(record: dict[str, Any]) -> str:
    """Return the names of a record's fields, to help in mapping them."""
    shown = ", ".join(str(key) for key in record)
    return shown if len(shown) <= _MOST_SHOWN else f"{shown[:_MOST_SHOWN]}..."


def recognise_by_keys(
    url: str, io: SourceIO, keys: frozenset[str], what: str
) -> Recognition | None:
    """Recognise the records at a path by the keys of the first; an address is none."""
    found = first_record(url, io, JSONForm())
    if found is None or not isinstance(found[1], dict) or not keys <= found[1].keys():
        return None
    return Recognition(
        settings={"path": url}, confidence=0.95, why=f"{found[0]} holds {what}"
    )
