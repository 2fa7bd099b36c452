"""A program that exports rows: quoted, half ones, packed, in changing charsets."""

import json
from collections.abc import Mapping
from typing import Any

from tests.contract.stubs.writing import FileStub

WALL_TIME = "%d/%m/%Y %H:%M:%S"

_HEADER = (
    *("Number", "Opened", "Author", "Title", "Text", "Tags", "Book", "Parent"),
    *("Files", "More"),
)


class CSVStub(FileStub):
    """Rows under a header with a byte order mark and padded names."""

    adapter = "generic_csv"
    file_name = "log.csv"
    args: Mapping[str, Any] = {
        "columns": {
            "external_id": "Number",
            "entry_time": "Opened",
            "author": "Author",
            "title": "Title",
            "text": "Text",
            "tags": "Tags",
            "logbook": "Book",
            "reply_to": "Parent",
            "attachments": "Files",
        },
        "time_format": ["%d/%m/%Y %H:%M:%S", "%d/%m/%Y %H:%M:%S.%f %z"],
        "separator": "|",
    }

    def whole(self) -> bytes:
        head = b"\xef\xbb\xbf" + ", ".join(f'"{name}"' for name in _HEADER).encode()
        return head + b"\r\n" + super().whole()

    def record(self, external_id: str) -> bytes:
        entry = self._entries[external_id]
        stamp = entry.raw_time
        if stamp is None:
            stamp = entry.time.strftime("%d/%m/%Y %H:%M:%S.%f %z")
        if external_id in self._malformed:
            stamp = "soon"
        parent = "" if entry.reply_to is None else str(entry.reply_to)
        cells: list[str | bytes] = [
            external_id,
            stamp,
            entry.author or "",
            self.raw(external_id, "title", entry.title),
            self.raw(external_id, "text", entry.text),
            "|".join(entry.tags),
            entry.logbook,
            parent,
            "|".join(self.links(entry)),
            json.dumps(dict(entry.metadata)) if entry.metadata else "",
        ]
        return b",".join(_quoted(cell) for cell in cells) + b"\r\n"


def _quoted(cell: str | bytes) -> bytes:
    # A lone half of a surrogate pair has no bytes in any charset.
    data = cell if isinstance(cell, bytes) else cell.encode("utf-8", "surrogatepass")
    return b'"' + data.replace(b'"', b'""') + b'"'
