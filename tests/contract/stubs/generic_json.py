"""A program that writes JSON: half lines, packed files, and changing charsets."""

import json
from collections.abc import Callable
from typing import Any

from tests.contract.stubs.writing import FileStub
from workers.adapters.kit.stub import Stub

WALL_TIME = "%Y-%m-%dT%H:%M:%S"


class JSONLinesStub(FileStub):
    """One record a line."""

    adapter = "generic_json"
    file_name = "log.jsonl"

    def record(self, external_id: str) -> bytes:
        entry = self._entries[external_id]
        stamp: Any = entry.raw_time
        if stamp is None:
            stamp = entry.time.isoformat().replace("+00:00", "Z")
        record: dict[str, Any] = {
            "id": external_id,
            "timestamp": {"spoilt": True} if external_id in self._malformed else stamp,
            "author": entry.author,
            "title": self._marked(external_id, "title", entry.title),
            "text": self._marked(external_id, "text", entry.text),
            "tags": list(entry.tags),
            "books": [entry.logbook],
            "linked_to": str(entry.reply_to) if entry.reply_to is not None else "0",
            "attachments": [
                {"url": url, "filename": file.filename}
                for url, file in zip(self.links(entry), entry.files, strict=True)
            ],
            "metadata": dict(entry.metadata),
        }
        data = json.dumps(record).encode()
        for name in ("title", "text"):
            wire = self._bytes.get((external_id, name))
            if wire is not None:
                data = data.replace(_mark(external_id, name).encode(), wire)
        return data + b"\n"

    def _marked(self, external_id: str, name: str, text: str) -> str:
        if (external_id, name) in self._bytes:
            return _mark(external_id, name)
        return text


class JSONDocumentStub(JSONLinesStub):
    """An object that holds the list of all records, written anew each time."""

    file_name = "log.json"

    def appends(self) -> bool:
        return False

    def whole(self) -> bytes:
        records = b",".join(self.record(one).strip() for one in self._entries)
        return b'{"entries": [' + records + b"]}"


def _mark(external_id: str, name: str) -> str:
    return f"<<{external_id}:{name}>>"


make_stub: Callable[[], Stub] = JSONLinesStub
VARIANTS = {
    "document": (JSONDocumentStub, frozenset({"ADP7", "ADP15", "ADP19", "ADP28"}))
}
