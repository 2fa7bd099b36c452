"""The walk over the files of a source: what is new of each, page by page."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any, BinaryIO, Protocol

from shared.adapter_contract.contract import (
    AdapterPage,
    Cursor,
    FileStat,
    RawItem,
    Source,
    SourceIO,
)
from shared.errors import FileGoneError, IngestionError
from workers.adapters.files.file_progress import (
    HEAD_BYTES,
    FileMark,
    FileProgress,
    Files,
    PathFiles,
    Record,
    digest,
    memory_key,
)
from workers.adapters.files.repeated_records import Duplicates
from workers.adapters.files.utf8_text import advance
from workers.adapters.mapping.field_values import hash_id

# A page is held whole, and the one before it while it is stored: long lines make
# pages of fewer.
_PAGE_BYTES = 16 * 1024 * 1024


class Format(Protocol):
    """How the records of a file are written."""

    def grows(self, name: str, first: bytes) -> bool:
        """Tell whether records are only added at its end, and have a place there."""

    def records(
        self, name: str, stream: BinaryIO, first: bytes, start: FileMark
    ) -> Iterator[Record | None]:
        """Yield the records from a place on; a None at the end: it is not yet there."""


class FileWalk:
    """Continues where the last walk ended; files that were replaced are read again."""

    def __init__(
        self,
        source: Source,
        io: SourceIO,
        form: Format,
        identify: Callable[[Any], str | None],
        files: Files | None = None,
    ) -> None:
        self._io = io
        self._files = files or PathFiles(io)
        self._form = form
        self._identify = identify
        self._page_size = source.page_size
        # What was read by other settings is read again; by none, everything is.
        self._read_by = source.read_by or ""
        self._items: list[RawItem] = []
        self._bytes = 0
        # Files whose last item is in this page, and those of the page before.
        self._finished: dict[str, FileMark] = {}
        self._stored: dict[str, FileMark] = {}

    def pages(self, since: Cursor | None) -> Iterator[AdapterPage]:
        """Yield what is new since the cursor; without one, everything."""
        place = FileProgress.of(dict(since) if since is not None else None)
        if place.mark is not None and place.mark.read_by != self._read_by:
            place = FileProgress(place.is_full)
        names = self._files.names()
        if not names:
            message = "There is no file where the source's `path` points to."
            raise IngestionError(message, reason="no_file")
        for name in names:
            if place.is_behind(name):
                continue
            under_way = place.mark if name == place.name else None
            try:
                yield from self._of_file(name, place, under_way)
            except FileGoneError:
                # Where all have gone, the disk is away.
                if not self._files.names():
                    raise
            if self._io.is_cancelled():
                return
        if self._items:
            yield self._page(FileProgress(place.is_full, names[-1], None))
        if place.is_full or place.name is not None or self._finished or self._stored:
            self._stored, self._finished = self._stored | self._finished, {}
            yield self._page(FileProgress(is_full=False), is_last=True)

    def _page(self, place: FileProgress, *, is_last: bool = False) -> AdapterPage:
        """Return the collected items as a page, and keep the marks stored before.

        A file counts as read one page later than its last item: when that page is
        asked for, whoever stores them has stored the one before whole.
        """
        for name, mark in self._stored.items():
            self._io.memory.put(memory_key(name), mark.kept())
        self._stored, self._finished = self._finished, {}
        items, self._items, self._bytes = self._items, [], 0
        return AdapterPage(tuple(items), place.cursor(), is_last=is_last)

    def _is_full(self, record: Record) -> bool:
        """Tell whether a record has to wait for the next page."""
        is_too_much = self._bytes + record.size > _PAGE_BYTES
        return len(self._items) == self._page_size or bool(self._items and is_too_much)

    def _of_file(
        self, name: str, place: FileProgress, under_way: FileMark | None
    ) -> Iterator[AdapterPage]:
        anew = place.is_full or under_way is not None
        known = under_way or self._known(name)
        stat = self._files.stat(name, known.answer if known and not anew else {})
        if stat is None:
            return
        if known is not None and not anew and known.is_of(stat) and not known.waits:
            if self._files.answer != known.answer:
                self._finished[name] = replace(known, answer=self._files.answer)
            return
        with self._files.open(name) as stream:
            first = stream.read(HEAD_BYTES)
        grows = self._form.grows(name, first)
        usable = known if under_way is not None or not place.is_full else None
        begun = self._begun(name, stat, usable, first, grows=grows)
        yield from self._read(name, place, stat, begun, first)

    def _known(self, name: str) -> FileMark | None:
        """Return the mark of a file, if today's settings would read it the same way."""
        known = FileMark.of(self._io.memory.get(memory_key(name)))
        is_same = known is not None and known.read_by == self._read_by != ""
        return known if is_same else None

    def _begun(
        self,
        name: str,
        stat: FileStat,
        known: FileMark | None,
        first: bytes,
        *,
        grows: bool,
    ) -> FileMark:
        """Return from where a file is read: the known place, if it is still there."""
        answer = self._files.answer
        start = FileMark.start(stat, self._read_by, answer)
        if known is None:
            return start
        if not grows:
            again = replace(known, offset=0, line=0, answer=answer)
            return again if known.is_of(stat) else start
        if not (known.is_of(stat) or known.may_have_grown(stat)):
            return start
        if not known.begins(first):
            return start
        with self._files.open(name) as stream:
            is_there = advance(stream, known.offset - known.tail_bytes)
            ending = stream.read(known.tail_bytes) if is_there else b""
        if len(ending) != known.tail_bytes or digest(ending) != known.tail:
            return start
        return replace(
            known,
            size=stat.size,
            mtime_ns=stat.mtime_ns,
            inode=stat.inode,
            answer=answer,
        )

    def _read(
        self,
        name: str,
        place: FileProgress,
        stat: FileStat,
        begun: FileMark,
        first: bytes,
    ) -> Iterator[AdapterPage]:
        walk = _FilePass(self._identify, begun, first, stat)
        # Without ids, what comes first has to be counted again.
        can_skip = begun.offset > 0 and not begun.counts_matter
        skipped = begun.count
        start = begun if can_skip else FileMark.start(stat)
        with self._files.open(name) as stream:
            fetched_at = self._io.now()
            if can_skip:
                advance(stream, begun.offset)
                skipped = 0
            for record in self._form.records(name, stream, first, start):
                if record is None:
                    walk.waits = True
                    break
                if skipped:
                    walk.pass_by(record)
                    skipped -= 1
                    continue
                if self._is_full(record):
                    yield self._page(FileProgress(place.is_full, name, walk.mark()))
                    if self._io.is_cancelled():
                        return
                    fetched_at = self._io.now()
                self._items.append(walk.item(name, record, fetched_at))
                self._bytes += record.size
        self._finished[name] = walk.mark()


class _FilePass:
    """One pass over one file: the ids of its records, and the place reached."""

    def __init__(
        self,
        identify: Callable[[Any], str | None],
        begun: FileMark,
        first: bytes,
        stat: FileStat,
    ) -> None:
        self._identify = identify
        self._begun = begun
        self._first = first
        self._stat = stat
        self._seen: Duplicates | None = None
        self._count = begun.count
        self._last: Record | None = None
        self.waits = False

    def item(self, name: str, record: Record, fetched_at: datetime) -> RawItem:
        """Return the item of a record, under its own id or a hash of it."""
        where = f"{name}#line={record.line}"
        payload = record.payload
        own = self._identify(payload) or self._numbered(payload, where)
        self._count += 1
        self._last = record
        return RawItem(
            own,
            payload,
            record.media_type,
            record.charset,
            where,
            fetched_at,
            digest=record.digest,
            size=record.size,
        )

    def pass_by(self, record: Record) -> None:
        """Count a record that an earlier pass has brought."""
        if self._begun.counts_matter and not self._identify(record.payload):
            self._numbered(record.payload, "")

    def mark(self) -> FileMark:
        """Return the place behind the last record."""
        last, begun = self._last, self._begun
        offset = last.end if last else begun.offset
        return FileMark(
            size=self._stat.size,
            mtime_ns=self._stat.mtime_ns,
            inode=self._stat.inode,
            offset=offset,
            line=last.line if last else begun.line,
            count=self._count,
            head=digest(self._first[: min(HEAD_BYTES, offset)]),
            tail=digest(last.tail) if last else begun.tail,
            tail_bytes=len(last.tail) if last else begun.tail_bytes,
            counts_matter=self._seen is not None or begun.counts_matter,
            waits=self.waits,
            read_by=begun.read_by,
            answer=begun.answer,
        )

    def _numbered(self, payload: Any, where: str) -> str:
        own = hash_id(payload, where.encode("utf-8", "replace"))
        if self._seen is None:
            self._seen = Duplicates()
        times = self._seen.add(int(own[7:23], 16))
        return own if times == 1 else f"{own}#{times}"
