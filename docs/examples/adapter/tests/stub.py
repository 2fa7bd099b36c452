"""Acme's logbook as far as its adapter sees it, and what goes wrong with it."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from workers.adapters.kit.stub import FaultMode, StubEntry

LOGIN = b'<html><form method="post"><input type="password" name="p"></form></html>'
_STATUSES = {"500": 500, "429": 429, "redirect_loop": 302}


class AcmeStub:
    """A list of changes, on a port of its own."""

    def __init__(self) -> None:
        self._entries: dict[str, StubEntry] = {}
        self._changed: dict[str, datetime] = {}
        self._deleted: set[str] = set()
        self._malformed: set[str] = set()
        self._faults: list[FaultMode] = []
        self._offset = timedelta()
        self._requests: list[str] = []
        self.closing = threading.Event()
        handler = type("Handler", (_Handler,), {"stub": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._server.block_on_close = False
        threading.Thread(
            target=self._server.serve_forever, args=(0.02,), daemon=True
        ).start()

    def settings(self) -> Mapping[str, Any]:
        return {"base_url": f"http://127.0.0.1:{self._server.server_port}"}

    def add(self, entry: StubEntry) -> str:
        external_id = f"A{entry.number}"
        now = datetime.now(UTC)
        is_new = external_id not in self._entries and entry.time <= now
        self._entries[external_id] = entry
        self._changed[external_id] = (entry.time if is_new else now) + self._offset
        # What is added late is changed late, however early it says it was written.
        if is_new and now - entry.time > timedelta(days=1) and len(self._requests):
            self._changed[external_id] = now + self._offset
        self._deleted.discard(external_id)
        return external_id

    def edit(self, external_id: str, **changes: Any) -> str:
        self._malformed.discard(external_id)
        self._entries[external_id] = replace(self._entries[external_id], **changes)
        self._touch(external_id)
        return external_id

    def delete(self, external_id: str) -> None:
        self._deleted.add(external_id)
        self._touch(external_id)

    def malform(self, external_id: str) -> None:
        self._malformed.add(external_id)

    def set_bytes(self, external_id: str, field_name: str, data: bytes) -> None:
        raise LookupError(external_id, field_name, data)

    def clock_offset(self, seconds: float) -> None:
        self._offset = timedelta(seconds=seconds)

    def fault(self, mode: FaultMode, times: int = 1) -> None:
        if mode in {"empty_listing", "cut_listing", "endless", "wrong_length"}:
            raise LookupError(mode)
        self._faults += [mode] * times

    def requests(self) -> Sequence[str]:
        return tuple(self._requests)

    def close(self) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()

    def answer(self, target: str) -> tuple[FaultMode | None, bytes]:
        """Return what goes wrong, if anything, and the body of the answer."""
        self._requests.append(target)
        asked = dict(parse_qsl(urlsplit(target).query, keep_blank_values=True))
        since = datetime.fromisoformat(asked["since"]) if asked["since"] else None
        place = (since, asked["after"])
        found = sorted((changed, one) for one, changed in self._changed.items())
        coming = [
            self._record(one)
            for changed, one in found
            if since is None or (changed, one) > place
        ]
        body = json.dumps({"changes": coming[: int(asked["limit"])]}).encode()
        return (self._faults.pop(0) if self._faults else None), body

    def _touch(self, external_id: str) -> None:
        self._changed[external_id] = datetime.now(UTC) + self._offset

    def _record(self, external_id: str) -> dict[str, Any]:
        changed = self._changed[external_id].isoformat()
        if external_id in self._deleted:
            return {"id": external_id, "changed": changed, "deleted": True}
        entry = self._entries[external_id]
        written: Any = entry.raw_time or entry.time.isoformat()
        parent = f"A{entry.reply_to}" if entry.reply_to is not None else None
        return {
            "id": external_id,
            "changed": changed,
            "written": ["spoilt"] if external_id in self._malformed else written,
            "title": entry.title,
            "body": entry.text,
            "author": entry.author,
            "section": entry.logbook,
            "tags": list(entry.tags),
            "reply_to": parent,
            "fields": dict(entry.metadata),
        }


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True
    stub: AcmeStub

    def do_GET(self) -> None:
        """Answer, or do what was ordered instead."""
        if urlsplit(self.path).path != "/changes":
            self.send_error(404)
            return
        mode, body = self.stub.answer(self.path)
        if mode == "hang":
            self.stub.closing.wait(60)
            self.close_connection = True
            return
        if mode in {"html_error", "login_page"}:
            body = LOGIN if mode == "login_page" else b"<html>Internal error</html>"
        self.send_response(_STATUSES.get(mode or "", 200))
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Retry-After", "2")
        if mode == "redirect_loop":
            self.send_header("Location", self.path)
        self.end_headers()
        if mode == "half_body":
            body = body[: len(body) // 2]
            self.close_connection = True
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, *_: object) -> None:
        """Keep the tests quiet."""
