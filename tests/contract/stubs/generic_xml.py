"""A program that writes XML, declares a charset, and may use another."""

from collections.abc import Mapping
from typing import Any
from xml.sax.saxutils import escape

from tests.contract.stubs.writing import FileStub

WALL_TIME = "%Y/%m/%d %H:%M:%S"
_HEAD = b'<?xml version="1.0" encoding="ISO-8859-1"?>\n<log_entries>\n'


class XMLStub(FileStub):
    """Elements of the elder family, with an id of their own."""

    adapter = "generic_xml"
    file_name = "log.xml"
    args: Mapping[str, Any] = {
        "map": {
            "external_id": "id",
            "reply_to": "parent",
            "tags": "tag",
            "attachments": "file",
        },
        "separator": "",
    }

    def appends(self) -> bool:
        return False

    def whole(self) -> bytes:
        return _HEAD + super().whole() + b"</log_entries>\n"

    def record(self, external_id: str) -> bytes:
        entry = self._entries[external_id]
        stamp = entry.raw_time
        if stamp is None:
            stamp = entry.time.strftime("%Y-%m-%dT%H:%M:%S.%f%z")
        if external_id in self._malformed:
            stamp = "soon"
        parts = [
            ("id", external_id),
            ("title", self.raw(external_id, "title", entry.title)),
            ("timestamp", stamp),
            ("priority", "Info"),
            ("text", self.raw(external_id, "text", entry.text)),
            ("logbook", entry.logbook),
            ("log_user", entry.author or ""),
            ("parent", "" if entry.reply_to is None else str(entry.reply_to)),
            *(("tag", tag) for tag in entry.tags),
            *(("file", link) for link in self.links(entry)),
            *entry.metadata.items(),
        ]
        inside = b"".join(_element(name, value) for name, value in parts)
        return b'<log_entry type="LOGENTRY">' + inside + b"</log_entry>\n"


def _element(name: str, value: str | bytes) -> bytes:
    if isinstance(value, str):
        value = escape(value, {"\r": "&#13;"}).encode("utf-8", "surrogatepass")
    return b"<%b>%b</%b>" % (name.encode(), value, name.encode())
