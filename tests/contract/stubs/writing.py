"""What every stub that writes files stands on: a folder of its own, and its verbs."""

import gzip
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from tests.contract.stubs.holding import FOREIGN, HoldingStub
from tests.contract.stubs.serving import StubServer
from workers.adapters.kit.stub import FaultMode, StubEntry


class FileStub(HoldingStub):
    """Appends what is new, and replaces the file by a rename when anything changes."""

    adapter = ""
    file_name = "log.txt"
    args: Mapping[str, Any] = {}

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="stub-"))
        self.path = self.folder / self.file_name
        self.is_packed = False
        super().__init__()
        self._server: StubServer | None = None
        self.rewrite()

    def settings(self) -> Mapping[str, Any]:
        origins = [self._server.base_url] if self._server else []
        return {
            "adapter": self.adapter,
            "path": str(self.path),
            "timezone": "Europe/Berlin",
            "allowed_origins": origins,
            "args": dict(self.args),
        }

    def add(self, entry: StubEntry) -> str:
        return self.add_many([entry])[0]

    def add_many(self, entries: Sequence[StubEntry]) -> list[str]:
        """Take entries in at once: what is written anew is written once."""
        ids = [str(entry.number) for entry in entries]
        is_new = not self._entries.keys() & set(ids)
        self._entries.update(zip(ids, entries, strict=True))
        if is_new and not self.is_packed and self.appends():
            with self.path.open("ab") as file:
                file.write(b"".join(map(self.record, ids)))
        else:
            self.rewrite()
        return ids

    def fault(self, mode: FaultMode, times: int = 1) -> None:
        raise LookupError(mode, times)

    def requests(self) -> Sequence[str]:
        return self._server.requests() if self._server else []

    def close(self) -> None:
        if self._server:
            self._server.close()
        shutil.rmtree(self.folder)

    def appends(self) -> bool:
        """Whether a new record only lengthens the file."""
        return True

    def record(self, external_id: str) -> bytes:
        """Return one record as the file holds it."""
        raise LookupError(external_id)

    def whole(self) -> bytes:
        return b"".join(self.record(external_id) for external_id in self._entries)

    def rewrite(self) -> None:
        """Replace the file in one step, as careful programs do."""
        data = self.whole()
        new = self.folder / ".new"
        new.write_bytes(gzip.compress(data) if self.is_packed else data)
        new.replace(self.path)

    def pack(self) -> None:
        """Compress the file, its name unchanged."""
        self.is_packed = True
        self.rewrite()

    def put(self, text: bytes) -> None:
        """Append bytes as they are: half a line, another charset, rubbish."""
        with self.path.open("ab") as file:
            file.write(text)

    def cut(self, size: int) -> None:
        """Shorten the file in place."""
        os.truncate(self.path, size)

    def links(self, entry: StubEntry) -> list[str]:
        """Return where the files of an entry lie, and serve them there."""
        found = []
        for file in entry.files:
            path = f"/files/{entry.number}/{quote(file.filename, safe='')}"
            if file.foreign:
                found.append(f"{FOREIGN}{path}")
                continue
            if self._server is None:
                self._server = StubServer(self._send_file)
            found.append(f"{self._server.base_url}{path}")
            if not file.missing:
                self._files[unquote(path)] = file.content
        return found

    def raw(self, external_id: str, field_name: str, text: str) -> str | bytes:
        """Return a field as it goes into the file, its raw bytes if it has any."""
        return self._bytes.get((external_id, field_name), text)
