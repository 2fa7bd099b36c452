"""What most stubs hold: entries by their ids, and what was done to them."""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any
from urllib.parse import unquote

from tests.contract.stubs.serving import StubAnswer, StubRequest, StubServer
from workers.adapters.kit.stub import StubEntry

FOREIGN = "http://files.example.org/elsewhere"
BINARY = "application/octet-stream"


class HoldingStub:
    """The verbs that change an entry; `rewrite` follows each of them."""

    def __init__(self) -> None:
        self._entries: dict[str, StubEntry] = {}
        self._bytes: dict[tuple[str, str], bytes] = {}
        self._malformed: set[str] = set()
        self._files: dict[str, bytes] = {}
        self._offset = timedelta()

    def edit(self, external_id: str, **changes: Any) -> str:
        self._mend(external_id, changes)
        self._entries[external_id] = replace(self._entries[external_id], **changes)
        self.rewrite()
        return external_id

    def delete(self, external_id: str) -> None:
        del self._entries[external_id]
        self.rewrite()

    def malform(self, external_id: str) -> None:
        self._malformed.add(external_id)
        self.rewrite()

    def set_bytes(self, external_id: str, field_name: str, data: bytes) -> None:
        self._bytes[external_id, field_name] = data
        self.rewrite()

    def clock_offset(self, seconds: float) -> None:
        self._offset = timedelta(seconds=seconds)

    def rewrite(self) -> None:
        """Write what has changed where it is written."""

    def _mend(self, external_id: str, changes: dict[str, Any]) -> None:
        self._malformed.discard(external_id)
        for name in changes:
            self._bytes.pop((external_id, name), None)

    def _send_file(self, request: StubRequest) -> StubAnswer:
        content = self._files.get(unquote(request.path))
        return StubAnswer(content or b"", 404 if content is None else 200, BINARY)


class ServingStub(HoldingStub, ABC):
    """Answers requests about what it holds."""

    def __init__(self) -> None:
        super().__init__()
        self._server = StubServer(self._answer)
        self.fault = self._server.fault
        self.requests = self._server.requests
        self.close = self._server.close

    @abstractmethod
    def _answer(self, request: StubRequest) -> StubAnswer:
        """Answer a request about what it holds."""


def written_with_bytes(document: Any, raw: Mapping[str, bytes]) -> bytes:
    """Return a document as JSON that has raw bytes where it names their places."""
    # Half a surrogate pair cannot be UTF-8; it is sent as its escape.
    text = json.dumps(document, ensure_ascii=False)
    body = text.encode("utf-8", "backslashreplace")
    for place, data in raw.items():
        escaped = data.replace(b"\\", b"\\\\").replace(b'"', b'\\"')
        for code in range(0x20):
            escaped = escaped.replace(bytes([code]), b"\\u%04x" % code)
        body = body.replace(place.encode(), escaped)
    return body
