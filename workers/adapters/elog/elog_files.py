"""PSI ELOG by its files: a day of a logbook each, rewritten in place by any edit."""

from __future__ import annotations

import glob
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from pathlib import PurePosixPath
from typing import Any, ClassVar

from shared.adapter_contract.contract import (
    AdapterDescriptor,
    AdapterPage,
    Cursor,
    IdStamp,
    RawItem,
    Recognition,
    Source,
    SourceIO,
    SourceReport,
    Window,
)
from shared.adapter_contract.entry import AttachmentRef, Entry
from shared.errors import IngestionError
from workers.adapters.elog import message_block
from workers.adapters.elog import walk as elog_walk
from workers.adapters.elog.folder import Folder, LogFile
from workers.adapters.elog.message_block import Block, ElogArgs, MessageOrigin

_DAY = timedelta(days=1)
_READ_BYTES = 65_536
_UNKNOWN = (
    "Which of its logbooks have a login is not known: no elogd.cfg lies at the top of"
    " `path`. Copy the server's there (Debian: /etc/elog.conf), or say in"
    " `args.readers` who may read them, `*: null` for whoever may read the source."
)


class ElogFiles:
    """The logbooks below a folder, as elogd keeps them."""

    descriptor: ClassVar[AdapterDescriptor] = AdapterDescriptor(
        name="elog_files",
        title="PSI ELOG, by its files",
        version=1,
        args=ElogArgs,
        capabilities=replace(message_block.CAPABILITIES, attachments="by_id"),
        place="path",
    )

    def __init__(self, source: Source, io: SourceIO) -> None:
        self._source = source
        self._io = io
        self._args = source.args if isinstance(source.args, ElogArgs) else ElogArgs()
        self._folder = Folder(source, io, self._args.logbooks)
        self._places: dict[str, LogFile] = {}
        self._overlap = timedelta(seconds=source.overlap_seconds)

    def pages(
        self, since: Cursor | None, window: Window | None = None
    ) -> Iterator[AdapterPage]:
        """Yield the newest day first, and within a day the newest message."""
        walk = _begin(since, window, self._io.now(), self._overlap)
        taken: list[RawItem] = []
        for file in reversed(self._folder.files()):
            if self._io.is_cancelled():
                return
            if not self._is_wanted(walk, file):
                continue
            rest = self._found(walk, file)
            while rest:
                room = max(1, self._source.page_size) - len(taken)
                part, rest = rest[:room], rest[room:]
                taken += [self._item(file, block) for _, block in part]
                walk.file = (file.day, file.name)
                walk.after = part[-1][0] if rest else None
                if len(part) == room:
                    yield AdapterPage(_emptied(taken), walk.cursor())
        walk.is_over = True
        yield AdapterPage(
            _emptied(taken),
            walk.cursor(),
            complete_to=min(walk.top or walk.seen_to, walk.seen_to),
        )

    def list_ids(self, window: Window | None) -> Iterator[IdStamp]:
        """Yield every message; files that have not changed are not read again."""
        del window
        places: dict[str, LogFile] = {}
        for file, messages in self._folder.listed():
            for mid, stamp in messages:
                external_id = f"{file.logbook}/{mid}"
                places[external_id] = file
                yield IdStamp(external_id, _stamp(stamp, is_open=self._is_open(file)))
        self._places = places

    def fetch(self, external_id: str) -> RawItem | None:
        """Return one message from whichever file holds it; None if none does."""
        found = self._found_in(self._places.get(external_id), external_id)
        if found is None:
            # A message whose date is edited moves to the file of that day.
            for _ in self.list_ids(None):
                pass
            found = self._found_in(self._places.get(external_id), external_id)
        return found

    def fetch_attachment(self, ref: AttachmentRef) -> Iterator[bytes]:
        """Yield the bytes of a file that lies beside its message's."""
        logbook, _, stored = ref.id.rpartition("/")
        for name in self._io.files.names(f"**/{glob.escape(stored)}"):
            if self._folder.logbook_of(name) != logbook:
                continue
            with self._io.files.open(name) as file:
                while piece := file.read(_READ_BYTES):
                    yield piece
            return
        raise IngestionError(f"{stored!r} is not beside its message.", reason="gone")

    def parse(self, raw: RawItem) -> Entry:
        """Return the entry of one message."""
        place = MessageOrigin(
            logbook=raw.external_id.rpartition("/")[0],
            url=None,
            restricted=raw.media_type.endswith(message_block.RESTRICTED),
        )
        return message_block.parse(raw, self._source, self._args, place)

    def check(self) -> SourceReport:
        """Count the messages, and name logbooks that the server guards by a login."""
        entries, last = 0, None
        books: set[str] = set()
        for file, messages in self._folder.listed():
            books.add(file.logbook)
            entries += len(messages)
            last = file if messages else last
        blocks = self._folder.blocks(last) if last is not None else []
        times = [block.written(self._source) for block in blocks]
        configuration = self._folder.configuration
        hidden = [
            book
            for book in sorted(books)
            if self._args.readers_of(book, restricted=not configuration.is_open(book))
            == ()
        ]
        unknown = hidden and configuration.books is None
        return SourceReport(
            newest=max((time for time in times if time is not None), default=None),
            entries=entries,
            restricted=configuration.restricted,
            hidden=tuple(hidden),
            problems=(
                *((_UNKNOWN,) if unknown else ()),
                *(message_block.hidden(book) for book in hidden),
            ),
        )

    @classmethod
    def recognise(cls, url: str, io: SourceIO) -> Recognition | None:
        """Recognise an ELOG by the first line of its newest file."""
        if "://" in url:
            return None
        folder = Folder(Source(name="elog", path=url), io, ())
        try:
            files = folder.files()
            oldest = folder.blocks(files[0]) if files else []
            blocks = folder.blocks(files[-1]) if files else []
        except IngestionError:
            return None
        if not blocks:
            return None
        books = list(dict.fromkeys(file.logbook for file in files))
        return Recognition(
            settings={"path": url, "args": {"logbooks": sorted(books)}},
            confidence=0.95,
            why=f"{PurePosixPath(files[-1].name).name} holds messages of an ELOG",
            asks=() if all(one.offset for one in [*oldest, *blocks]) else ("timezone",),
        )

    def _is_wanted(self, walk: _Pass, file: LogFile) -> bool:
        """Tell whether a file may hold messages that the walk still lacks."""
        if walk.file is not None:
            if (file.day, file.name) > walk.file:
                return False
            if (file.day, file.name) == walk.file and walk.after is None:
                return False
        if walk.since is not None:
            return self._folder.changed_since(file, walk.since)
        # The server's own zone makes a day of difference at most.
        if walk.lower is not None and file.day < (walk.lower - _DAY).date():
            return False
        return walk.top is None or file.day <= (walk.top + _DAY).date()

    def _found(self, walk: _Pass, file: LogFile) -> list[tuple[tuple[int, int], Block]]:
        """Return the messages of a file that the walk still lacks, newest first."""
        after = walk.after if walk.file == (file.day, file.name) else None
        found = []
        for block in self._folder.blocks(file):
            written = block.written(self._source)
            key = elog_walk.key(written, block.mid)
            early = written and walk.lower and written < walk.lower
            late = written and walk.top and written >= walk.top
            if not early and not late and (after is None or key < after):
                found.append((key, block))
        return sorted(found, key=lambda one: one[0], reverse=True)

    def _found_in(self, file: LogFile | None, external_id: str) -> RawItem | None:
        mid = external_id.rpartition("/")[2]
        if file is None or not mid.isdecimal():
            return None
        for block in self._folder.blocks(file):
            if block.mid == int(mid):
                return self._item(file, block)
        return None

    def _item(self, file: LogFile, block: Block) -> RawItem:
        is_open = self._is_open(file)
        access = "" if is_open else message_block.RESTRICTED
        return RawItem(
            external_id=f"{file.logbook}/{block.mid}",
            payload=block.data,
            media_type=f"{message_block.MEDIA_TYPE}{access}",
            charset=self._folder.configuration.charset,
            fetched_at=self._io.now(),
            stamp=_stamp(block.stamp, is_open=is_open),
        )

    def _is_open(self, file: LogFile) -> bool:
        return self._folder.configuration.is_open(file.logbook)


def _stamp(of_block: str, *, is_open: bool) -> str:
    """Return a stamp that changes with the message, and when its logbook is opened."""
    return of_block if is_open else f"{of_block}-restricted"


@dataclass(slots=True)
class _Pass:
    """One pass through the files, newest first."""

    began: datetime
    overlap: timedelta
    lower: datetime | None = None
    top: datetime | None = None
    # Only files that were written to since.
    since: datetime | None = None
    done: datetime | None = None
    file: tuple[date, str] | None = None
    after: tuple[int, int] | None = None
    is_over: bool = False

    @property
    def seen_to(self) -> datetime:
        """Return the time up to which everything is seen at the end of the pass."""
        return self.began - self.overlap

    def cursor(self) -> Cursor:
        """Return where to go on; only the end of a pass moves the safe place."""
        if self.is_over:
            at = self.seen_to if self.done is None else max(self.done, self.seen_to)
            return {"v": elog_walk.CURSOR_FORMAT, "at": at.isoformat()}
        day, name = self.file or (None, None)
        walk: dict[str, Any] = {
            "began": self.began.isoformat(),
            "lower": elog_walk.format_cursor_time(self.lower),
            "top": elog_walk.format_cursor_time(self.top),
            "since": elog_walk.format_cursor_time(self.since),
            "day": day.isoformat() if day else None,
            "file": name,
            "after": list(self.after) if self.after else None,
        }
        done = elog_walk.format_cursor_time(self.done)
        return {"v": elog_walk.CURSOR_FORMAT, "at": done, "walk": walk}

    def resume(self, kept: Mapping[str, Any], window: Window | None) -> bool:
        """Take over a pass that was broken off, if it is through this window."""
        began = elog_walk.read_time(kept.get("began"))
        top = elog_walk.read_time(kept.get("top"))
        day, name = kept.get("day"), kept.get("file")
        if began is None or not isinstance(day, str) or not isinstance(name, str):
            return False
        if window is not None and top != self.top:
            return False
        try:
            self.file = (date.fromisoformat(day), name)
        except ValueError:
            return False
        self.began, self.top = began, top
        self.lower = elog_walk.read_time(kept.get("lower"))
        self.since = elog_walk.read_time(kept.get("since"))
        match kept.get("after"):
            case [int(second), int(mid)]:
                self.after = (second, mid)
        return True


def _begin(
    since: Cursor | None, window: Window | None, now: datetime, overlap: timedelta
) -> _Pass:
    """Go on with a pass, or begin one where the last has ended."""
    walk = _Pass(now, overlap)
    if window is not None:
        walk.lower, walk.top = window.start, window.end
    if since is None:
        return walk
    is_ours = since.get("v") == elog_walk.CURSOR_FORMAT
    walk.done = elog_walk.read_time(since.get("at")) if is_ours else None
    kept = since.get("walk") if is_ours else None
    if isinstance(kept, Mapping) and walk.resume(kept, window):
        return walk
    if window is None:
        # What cannot be read is read again from where reconciling begins.
        walk.since = walk.done - overlap if walk.done else now - elog_walk.RECONCILE
    return walk


def _emptied(taken: list[RawItem]) -> tuple[RawItem, ...]:
    """Return the collected items and empty the list."""
    found = tuple(taken)
    taken.clear()
    return found
