"""The files of an ELOG, written as elogd writes them: in place, and in two steps."""

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from tests.contract.stubs import elog_message
from tests.contract.stubs.elog_message import Logbooks, Message
from workers.adapters.kit.stub import FaultMode, StubEntry

WALL_TIME = elog_message.WALL_TIME


class ElogFolderStub:
    """A folder of logbooks, a file a day."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="elog-"))
        self.logbooks = Logbooks()

    def settings(self) -> Mapping[str, Any]:
        """Return what a source needs to read this."""
        return {
            "adapter": "elog_files",
            "path": str(self.folder),
            "timezone": elog_message.SERVER_ZONE,
        }

    def add(self, entry: StubEntry) -> str:
        """Append a message; a reply rewrites its parent's file too."""
        external_id = self.logbooks.add(entry)
        message = self.logbooks.find(external_id)
        path = self._path(entry.logbook, message.written)
        path.parent.mkdir(parents=True, exist_ok=True)
        for name, file in message.files().items():
            if not file.missing:
                (path.parent / name).write_bytes(file.content)
        if entry.reply_to is None and not message.children:
            with path.open("ab") as log:
                log.write(message.block())
        else:
            self._rewrite(entry.logbook)
        return external_id

    def edit(self, external_id: str, **changes: Any) -> str:
        """Rewrite the file of a message, and of the day that it moves to."""
        message = self.logbooks.find(external_id)
        self.logbooks.edit(external_id, changes)
        for name, file in message.files().items():
            path = self._path(message.entry.logbook, message.written).parent / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if not file.missing:
                path.write_bytes(file.content)
        self._rewrite(message.entry.logbook)
        return external_id

    def delete(self, external_id: str) -> None:
        """Remove a message, its replies, and the file that this empties."""
        self.logbooks.delete(external_id)
        self._rewrite(external_id.rpartition("/")[0])

    def malform(self, external_id: str) -> None:
        """Let a message say its date in words."""
        message = self.logbooks.find(external_id)
        message.spoiled = True
        self._rewrite(message.entry.logbook)

    def set_bytes(self, external_id: str, field_name: str, data: bytes) -> None:
        """Put raw bytes into a message."""
        message = self.logbooks.find(external_id)
        message.raw[field_name] = data
        self._rewrite(message.entry.logbook)

    def clock_offset(self, seconds: float) -> None:
        """Let the server's clock go wrong."""
        self.logbooks.offset = timedelta(seconds=seconds)

    def fault(self, mode: FaultMode, times: int = 1) -> None:
        """Take files away, as a disk that is not mounted does, or half of each."""
        if mode not in {"empty_listing", "cut_listing"}:
            raise LookupError(f"files are not read {mode}, let alone {times} times")
        for name, book in self.logbooks.books.items():
            kept = len(book) // 2 if mode == "cut_listing" else 0
            for number in list(book)[kept:]:
                del book[number]
            self._rewrite(name)

    def requests(self) -> Sequence[str]:
        """Return nothing: nobody asks files."""
        return ()

    def close(self) -> None:
        """Remove everything."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def tear(self, external_id: str) -> bytes:
        """Leave the file of a message half written; return what it should be."""
        message = self.logbooks.find(external_id)
        path = self._path(message.entry.logbook, message.written)
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) // 2])
        return whole

    def path_of(self, external_id: str) -> Path:
        """Return the file that a message lies in."""
        message = self.logbooks.find(external_id)
        return self._path(message.entry.logbook, message.written)

    def _rewrite(self, logbook: str) -> None:
        """Write every file of a logbook that is not as it should be."""
        wanted: dict[Path, list[Message]] = {}
        for message in self.logbooks.books.get(logbook, {}).values():
            path = self._path(logbook, message.written)
            wanted.setdefault(path, []).append(message)
        for path, messages in wanted.items():
            data = b"".join(message.block() for message in messages)
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists() or path.read_bytes() != data:
                _write_in_two_steps(path, data)
        for path in (self.folder / logbook).glob("*/??????a.log"):
            if path not in wanted:
                path.unlink()

    def _path(self, logbook: str, written: datetime) -> Path:
        name = f"{written:%y%m%d}a.log"
        return self.folder / logbook / f"{written:%Y}" / name


def _write_in_two_steps(path: Path, data: bytes) -> None:
    """Cut the file off where it changes, then write the rest."""
    before = path.read_bytes() if path.exists() else b""
    same = next(
        (
            at
            for at, (old, new) in enumerate(zip(before, data, strict=False))
            if old != new
        ),
        min(len(before), len(data)),
    )
    with path.open("r+b" if before else "wb") as file:
        file.truncate(same)
        file.seek(same)
        file.write(data[same:])


make_stub = ElogFolderStub
