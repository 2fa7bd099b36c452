"""Records as ORNL's are known: both envelopes, from a file and from an address.

No server of it is known. The shape of a record was read in a client, als-apg/osprey,
`ornl.py`; that an address answers the whole list, with an ETag, is believed.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from tests.contract.stubs.serving import StubAnswer, StubRequest, StubServer
from tests.contract.stubs.writing import FileStub
from workers.adapters.kit.stub import FaultMode, Stub

WALL_TIME = "%Y-%m-%dT%H:%M:%S"


class OrnlFileStub(FileStub):
    """The envelope with `entries`, in a file; events come long before their entry."""

    adapter = "ornl"
    file_name = "entries.json"

    def appends(self) -> bool:
        return False

    def whole(self) -> bytes:
        return json.dumps({"entries": self._records()}).encode()

    def _records(self) -> list[dict[str, Any]]:
        return [self._record(external_id) for external_id in self._entries]

    def _record(self, external_id: str) -> dict[str, Any]:
        entry = self._entries[external_id]
        stamp: Any = entry.raw_time
        if stamp is None:
            stamp = entry.time.isoformat().replace("+00:00", "Z")
        if external_id in self._malformed:
            stamp = {"spoilt": True}
        event = entry.time - timedelta(days=3)
        links = self.links(entry)
        return {
            "ID": external_id,
            "logbook": entry.logbook,
            "event_time": event.isoformat().replace("+00:00", "Z"),
            "entry_time": stamp,
            "author": entry.author,
            "title": entry.title,
            "content": entry.text,
            "segment/area": "SCL",
            "reference": str(entry.reply_to or ""),
            "tags": list(entry.tags),
            "attachment": "Y" if links else "N",
            "attachments": [
                {"url": url, "filename": file.filename}
                for url, file in zip(links, entry.files, strict=True)
            ],
            "metadata": dict(entry.metadata),
        }

    def set_bytes(self, external_id: str, field_name: str, data: bytes) -> None:
        raise LookupError(external_id, field_name, data)


class OrnlStub(OrnlFileStub):
    """A bare list of the same records, at an address."""

    def __init__(self) -> None:
        super().__init__()
        self._api = StubServer(self._answer)

    def settings(self) -> Mapping[str, Any]:
        origins = [self._server.base_url] if self._server else []
        return {
            "adapter": self.adapter,
            "base_url": f"{self._api.base_url}/entries.json",
            "timezone": "Europe/Berlin",
            "allowed_origins": origins,
        }

    def fault(self, mode: FaultMode, times: int = 1) -> None:
        if mode == "empty_listing":
            raise LookupError(mode)
        self._api.fault(mode, times)

    def requests(self) -> Sequence[str]:
        return self._api.requests()

    def snapshot(self, external_ids: Sequence[str]) -> bytes:
        records = [self._record(one) for one in external_ids]
        return json.dumps({"entries": records}).encode()

    def close(self) -> None:
        self._api.close()
        super().close()

    def _answer(self, request: StubRequest) -> StubAnswer:
        body = json.dumps(self._records()).encode()
        if self._api.listing_fault() == "cut_listing":
            body = body[: len(body) // 2]
        etag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
        if request.headers.get("if-none-match") == etag:
            return StubAnswer(b"", 304, headers={"ETag": etag})
        return StubAnswer(body, headers={"ETag": etag})


make_stub: Callable[[], Stub] = OrnlStub
VARIANTS = {"file": (OrnlFileStub, frozenset({"ADP7", "ADP15", "ADP19", "ADP28"}))}
