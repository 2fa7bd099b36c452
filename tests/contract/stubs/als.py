"""An ALS eLog as it answers: JSON that calls itself HTML, and a page for nothing.

Nobody of us has seen it, and its source is not public. All that is known was read in a
client, als-apg/osprey: `als.py` (addresses, windows, the page, what "0" means) and
`als_olog_encoded_entries.jsonl` (how texts are escaped).
"""

import html
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote, unquote

from tests.contract.stubs.holding import FOREIGN, ServingStub
from tests.contract.stubs.serving import StubAnswer, StubRequest
from workers.adapters.kit.stub import StubEntry

EMPTY_PAGE = (
    b"<html><head><title>eLog</title></head><body>No entries in range.</body></html>"
)


class AlsStub(ServingStub):
    """Answers for a range, both ends in it; numbers are texts."""

    def __init__(self) -> None:
        # Answers that hold more than so many records are never done.
        self.most: int | None = None
        # A stretch that always fails, in epoch seconds.
        self.broken: tuple[int, int] | None = None
        super().__init__()

    def settings(self) -> Mapping[str, Any]:
        return {"adapter": "als", "base_url": f"{self._server.base_url}/elog/data.php"}

    def add(self, entry: StubEntry) -> str:
        external_id = str(entry.number)
        self._entries[external_id] = replace(entry, time=entry.time + self._offset)
        return external_id

    def snapshot(self, external_ids: Sequence[str]) -> bytes:
        return b"[" + b",".join(self._record(one) for one in external_ids) + b"]"

    def _answer(self, request: StubRequest) -> StubAnswer:
        if request.path.startswith("/attachments/"):
            return self._send_file(request)
        asked = dict(request.query)
        if asked.get("op") != "retrieve":
            return _page(b"<html><body>Error: unknown operation</body></html>")
        start, end = int(asked["start"]), int(asked["end"])
        if self.broken and start < self.broken[1] and self.broken[0] < end:
            return _page(b"<html><body>Internal Server Error</body></html>", 500)
        found = [
            external_id
            for external_id, entry in self._entries.items()
            if start <= int(entry.time.timestamp()) <= end
        ]
        if self.most is not None and len(found) > self.most:
            self._server.closing.wait(60)
        fault = self._server.listing_fault()
        if fault == "empty_listing" or not found:
            return _page(EMPTY_PAGE)
        body = b"[" + b",".join(self._record(one) for one in found) + b"]"
        return _page(body[: len(body) // 2] if fault == "cut_listing" else body)

    def _record(self, external_id: str) -> bytes:
        entry = self._entries[external_id]
        stamp: Any = entry.raw_time or str(int(entry.time.timestamp()))
        record = {
            "id": external_id,
            "timestamp": {"spoilt": 1} if external_id in self._malformed else stamp,
            "author": entry.author,
            "subject": self._marked(external_id, "title", _escaped(entry.title)),
            "details": self._marked(external_id, "text", _as_html(entry.text)),
            "category": ",".join(entry.tags),
            "tag": "0",
            "linkedto": str(entry.reply_to or 0),
            "level": "Info",
            "attachments": [{"url": self._link(entry, file)} for file in entry.files],
            **entry.metadata,
        }
        data = json.dumps(record).encode()
        for (owner, name), wire in self._bytes.items():
            if owner == external_id:
                data = data.replace(_mark(name).encode(), wire)
        return data

    def _link(self, entry: StubEntry, file: Any) -> str:
        path = f"attachments/{entry.number}/{quote(file.filename, safe='')}"
        if file.foreign:
            return f"{FOREIGN}/{path}"
        if not file.missing:
            self._files[f"/{unquote(path)}"] = file.content
        return path

    def _marked(self, external_id: str, name: str, text: str) -> str:
        return _mark(name) if (external_id, name) in self._bytes else text


def _as_html(text: str) -> str:
    """Return a text as the logbook's page sends it."""
    written = html.escape(text, quote=False).replace("\n", "<br />")
    return html.escape(_slashed(written))


def _escaped(title: str) -> str:
    return html.escape(html.escape(_slashed(title), quote=False))


def _slashed(text: str) -> str:
    return re.sub(r"([\\'\"])", r"\\\1", text)


def _mark(name: str) -> str:
    return f"<<{name}>>"


def _page(body: bytes, status: int = 200) -> StubAnswer:
    return StubAnswer(body, status, "text/html")
