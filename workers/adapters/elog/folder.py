"""The folders of a PSI ELOG: whose files are whose, and what is in each of them."""

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from pathlib import PurePosixPath
from typing import Any

from shared.adapter_contract.contract import FileStat, Source, SourceIO
from shared.errors import FileGoneError, IngestionError, SourceUnreachableError
from shared.text import decoding
from workers.adapters.elog import message_block
from workers.adapters.elog.message_block import Block

_PATTERN = "**/??????a.log"
_NAME = re.compile(r"(\d\d)(\d\d)(\d\d)a\.log")
_YEAR = re.compile(r"(?:19|20)\d\d")
# As elogd calls it, and as Debian's package does.
_CONFIGURATIONS = ("elogd.cfg", "elog.conf")
# By either a logbook, a group of them or all of them are behind a login.
_LOGIN_KEYS = frozenset({"password file", "authentication"})
_FIRST_OF_LAST_CENTURY = 80
# Twice as much fits into a worker beside what it needs itself; no day comes near it.
_MOST_FILE_BYTES = 67_108_864
_PIECE_BYTES = 1_048_576
_MOST_CONFIGURATION_BYTES = 1_048_576
# A rewrite takes milliseconds; whatever is torn for longer was left so.
_TRIES, _PAUSE_SECONDS = 25, 0.02
_SETTLED = timedelta(seconds=60)
# Within one tick of a clock a file may change and look the same.
_TICK = timedelta(seconds=2)


@dataclass(frozen=True, slots=True)
class Configuration:
    """The settings in elogd.cfg that the log files do not repeat."""

    charset: str | None = None
    # Names of logbooks by the folders that they lie in.
    folders: Mapping[str, str] = field(default_factory=dict)
    restricted: tuple[str, ...] = ()
    # Every logbook that it names; None: there is no configuration.
    books: frozenset[str] | None = None

    def is_open(self, logbook: str) -> bool:
        """Tell whether anybody may read a logbook; one not in elogd.cfg is not open."""
        if self.books is None or logbook not in self.books:
            return False
        return logbook not in self.restricted


@dataclass(frozen=True, slots=True, order=True)
class LogFile:
    """One day of one logbook; later days are greater."""

    day: date
    name: str
    logbook: str = field(compare=False)


class Folder:
    """Every log file below the path of a source, read whole or not at all."""

    def __init__(self, source: Source, io: SourceIO, logbooks: Sequence[str]) -> None:
        self._source = source
        self._io = io
        self._logbooks = frozenset(logbooks)
        self._only = logbooks[0] if len(logbooks) == 1 else None
        self._configuration: Configuration | None = None
        self._read: tuple[str, FileStat, list[Block]] | None = None

    @property
    def configuration(self) -> Configuration:
        """Return the settings of elogd.cfg at the folder's top, else defaults."""
        if self._configuration is None:
            found = (self._io.files.names(name) for name in _CONFIGURATIONS)
            name = next((names[0] for names in found if names), None)
            self._configuration = Configuration()
            if name is not None:
                with self._io.files.open(name) as file:
                    data = file.read(_MOST_CONFIGURATION_BYTES)
                self._configuration = _configuration(decoding.decode(data).text)
        return self._configuration

    def files(self) -> list[LogFile]:
        """Return every log file of the logbooks that are wanted, oldest first."""
        found = []
        for name in self._io.files.names(_PATTERN):
            day = _day(PurePosixPath(name).name)
            logbook = self.logbook_of(name)
            if day is not None and (not self._logbooks or logbook in self._logbooks):
                found.append(LogFile(day, name, logbook))
        return sorted(found)

    def logbook_of(self, name: str) -> str:
        """Return the logbook that a file lies in."""
        parts = list(PurePosixPath(name).parts[:-1])
        if parts and _YEAR.fullmatch(parts[-1]):
            parts.pop()
        folder = "/".join(parts)
        for subdir, logbook in self.configuration.folders.items():
            if folder == subdir or folder.endswith(f"/{subdir}"):
                return logbook
        if parts:
            return parts[-1]
        return self._only or PurePosixPath(self._source.path or "").name or "elog"

    def listed(self) -> Iterator[tuple[LogFile, list[tuple[int, str]]]]:
        """Yield every file with numbers and stamps of its messages.

        What has not changed is remembered; what is being rewritten is as it was.
        """
        by_folder: dict[str, list[LogFile]] = {}
        for file in self.files():
            folder = str(PurePosixPath(file.name).parent)
            by_folder.setdefault(folder, []).append(file)
        for folder, files in sorted(by_folder.items()):
            key = f"listing:{folder}"
            kept = self._io.memory.get(key)
            before: dict[str, Any] = kept if isinstance(kept, dict) else {}
            now: dict[str, list[Any]] = {}
            for file in files:
                try:
                    now[file.name] = self._row(file, before.get(file.name))
                except FileGoneError as exc:
                    self._pass_over(exc)
            if now != before:
                self._io.memory.put(key, now)
            for file in files:
                yield file, _messages(now.get(file.name))

    def blocks(self, file: LogFile) -> list[Block]:
        """Return the messages of a file, or raise while it is being rewritten.

        Of one that has gone since it was listed there are none.
        """
        try:
            return self._blocks(file)
        except FileGoneError as exc:
            self._pass_over(exc)
            return []

    def _blocks(self, file: LogFile) -> list[Block]:
        if self._read is not None and self._read[0] == file.name:
            name, stat, blocks = self._read
            if self._io.files.stat(name) == stat:
                return blocks
        # Two days at once would be twice the memory.
        self._read = None
        stat, blocks, is_whole = self._read_file(file.name)
        if not is_whole:
            message = f"{file.name} is being rewritten just now; it is read again."
            raise SourceUnreachableError(message, reason="torn_file")
        self._read = (file.name, stat, blocks)
        return blocks

    def changed_since(self, file: LogFile, moment: datetime) -> bool:
        """Tell whether a file was written to since, or is of a day since."""
        if file.day >= (moment - timedelta(days=1)).date():
            return True
        try:
            return self._io.files.stat(file.name).mtime_ns >= _nanoseconds(moment)
        except FileGoneError as exc:
            self._pass_over(exc)
            return False

    def _pass_over(self, gone: FileGoneError) -> None:
        """Do without a file that has gone, as elogd removes a day that it empties."""
        if not self.files():
            # All have gone: the disk is away.
            raise gone

    def _row(self, file: LogFile, before: Any) -> list[Any]:
        """Return size, time and messages of a file, as they are remembered."""
        known: list[Any] | None = before if _is_row(before) else None
        stat = self._io.files.stat(file.name)
        if known is not None and known[:3] == [stat.size, stat.mtime_ns, stat.inode]:
            return known
        stat, blocks, is_whole = self._read_file(file.name)
        if not is_whole and known is not None:
            return [stat.size, 0, stat.inode, known[3]]
        messages = " ".join(f"{one.mid}:{one.stamp}" for one in blocks)
        may_change_unseen = stat.mtime_ns >= _nanoseconds(self._io.now() - _TICK)
        is_final = is_whole and not may_change_unseen
        return [stat.size, stat.mtime_ns if is_final else 0, stat.inode, messages]

    def _read_file(self, name: str) -> tuple[FileStat, list[Block], bool]:
        """Read a file until it is whole; tell whether it is."""
        for attempt in range(_TRIES):
            if attempt:
                time.sleep(_PAUSE_SECONDS)
            before = self._io.files.stat(name)
            data = self._bytes_of(name)
            after = self._io.files.stat(name)
            blocks = message_block.split(data)
            if before == after and message_block.is_whole(data, blocks):
                return after, blocks, True
            settled = _nanoseconds(self._io.now() - _SETTLED)
            if before == after and after.mtime_ns < settled:
                # Damaged for good: what can be read of it is read.
                return after, blocks, True
        return after, blocks, False

    def _bytes_of(self, name: str) -> bytes:
        """Read a file piece by piece: asked for at once, its bound is allocated."""
        pieces, size = [], 0
        with self._io.files.open(name) as file:
            while piece := file.read(_PIECE_BYTES):
                pieces.append(piece)
                size += len(piece)
                if size > _MOST_FILE_BYTES:
                    message = f"{name} is larger than {_MOST_FILE_BYTES} bytes."
                    raise IngestionError(message, reason="too_large")
        return b"".join(pieces)


def _day(name: str) -> date | None:
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    year, month, day = (int(part) for part in found.groups())
    century = 1900 if year >= _FIRST_OF_LAST_CENTURY else 2000
    try:
        return date(century + year, month, day)
    except ValueError:
        # Named by nobody's calendar: as old as can be, but read.
        return date.min + timedelta(days=400)


def _is_row(value: Any) -> bool:
    match value:
        case [int(), int(), int(), str()]:
            return True
    return False


def _messages(row: Sequence[Any] | None) -> list[tuple[int, str]]:
    pairs = (one.partition(":") for one in (str(row[3]).split() if row else ()))
    return [(int(mid), stamp) for mid, _, stamp in pairs]


def _nanoseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1_000_000_000)


def _configuration(text: str) -> Configuration:
    """Read the few lines that matter; nothing in it is an error."""
    sections: dict[str, dict[str, str]] = {}
    values = sections.setdefault("global", {})
    for line in text.splitlines():
        bare = line.strip()
        if bare.startswith("[") and "]" in bare:
            name = bare[1 : bare.index("]")].strip()
            values = sections.setdefault(
                "global" if name.lower() == "global" else name, {}
            )
        elif "=" in bare and not bare.startswith(("#", ";")):
            key, _, value = bare.partition("=")
            values[key.strip().lower()] = value.strip()
    common = sections.pop("global")
    groups: dict[str, dict[str, str]] = {}
    books: dict[str, dict[str, str]] = {}
    for name, one in sections.items():
        (groups if name.lower().startswith("global ") else books)[name] = one
    # Which logbooks are in a group is not looked up: all of them may be.
    for_all = {key for one in (common, *groups.values()) for key in one}
    return Configuration(
        charset=common.get("charset"),
        folders={
            one["subdir"].strip("/"): name
            for name, one in books.items()
            if "subdir" in one
        },
        restricted=tuple(
            name for name, one in books.items() if _LOGIN_KEYS & {*one, *for_all}
        ),
        books=frozenset(books),
    )
