"""Logbooks of an ELOG as both of its stubs hold them, and their messages as written."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from workers.adapters.kit.stub import StubEntry, StubFile

SERVER_ZONE = "Europe/Zurich"
# Before version 2.5 the time had no zone.
WALL_TIME = "%a %b %d %H:%M:%S %Y"
_WITH_ZONE = "%a, %d %b %Y %H:%M:%S %z"
_SEPARATOR = b"=" * 40


@dataclass(slots=True)
class Message:
    entry: StubEntry
    written: datetime
    children: list[int] = field(default_factory=list)
    spoiled: bool = False
    locked_by: str | None = None
    encoding: str = "plain"
    raw: dict[str, bytes] = field(default_factory=dict)

    def files(self) -> Mapping[str, StubFile]:
        """Return its files by the names that they are stored under."""
        prefix = f"{self.written:%y%m%d_%H%M%S}"
        found: dict[str, StubFile] = {}
        for one in self.entry.files:
            name = f"{prefix}_{_plain(one.filename)}"
            while name in found:
                # Read in source (`el_submit_attachment`): before the first dot.
                stem, dot, suffix = name.partition(".")
                name = f"{stem}_1{dot}{suffix}"
            found[name] = one
        return found

    def block(self) -> bytes:
        """Return the message as elogd writes it."""
        entry = self.entry
        lines = [b"$@MID@$: %d" % entry.number, b"Date: " + self._date()]
        if self.children:
            children = ",".join(str(number) for number in self.children)
            lines.append(b"Reply to: " + children.encode())
        if entry.reply_to is not None:
            lines.append(b"In reply to: %d" % entry.reply_to)
        lines += [
            b"Author: " + _value(entry.author or ""),
            b"Type: " + _value(" | ".join(entry.tags)),
            b"Subject: " + self._bytes("title", _value(entry.title)),
            *(
                _value(key) + b": " + _value(text)
                for key, text in entry.metadata.items()
            ),
            b"Attachment: " + ",".join(self.files()).encode("utf-8", "replace"),
            b"Encoding: " + self.encoding.encode(),
        ]
        if self.locked_by:
            lines.append(b"Locked by: " + self.locked_by.encode())
        if entry.draft:
            lines.append(b"Draft: a.author")
        text = self._bytes("text", entry.text.encode("utf-8", "surrogatepass"))
        return b"\n".join([*lines, _SEPARATOR, text, b""])

    def in_bulk(self, unconfigured: frozenset[str] = frozenset()) -> bytes:
        """Return the message as elogd lists it in bulk.

        Seen: not that it is a draft, and no attribute that is not configured any more;
        the head ends its lines by CRLF, the text is as it was posted.
        """
        head, text = self.block().split(_SEPARATOR + b"\n", maxsplit=1)
        left_out = {b"Draft", *(name.encode() for name in unconfigured)}
        lines = [
            line
            for line in head.split(b"\n")[:-1]
            if line.partition(b":")[0] not in left_out
        ]
        ended = b"".join(line + b"\r\n" for line in [*lines, _SEPARATOR])
        return ended + text.removesuffix(b"\n") + b"\r\n"

    def _date(self) -> bytes:
        if self.spoiled:
            return b"yesterday"
        if self.entry.raw_time is not None:
            return _value(self.entry.raw_time)
        return f"{self.written:{_WITH_ZONE}}".encode()

    def _bytes(self, name: str, plain: bytes) -> bytes:
        return self.raw.get(name, plain)


class Logbooks:
    """Logbooks by name, changed as elogd changes them."""

    def __init__(self) -> None:
        self.books: dict[str, dict[int, Message]] = {}
        self._replies: dict[tuple[str, int], list[int]] = {}
        self.offset = timedelta()
        self.zone = ZoneInfo(SERVER_ZONE)

    def add(self, entry: StubEntry) -> str:
        """Take a message in; a reply rewrites its parent."""
        book = self.books.setdefault(entry.logbook, {})
        written = (entry.time + self.offset).astimezone(self.zone)
        book[entry.number] = Message(entry, written)
        early = self._replies.get((entry.logbook, entry.number), [])
        book[entry.number].children += [number for number in early if number in book]
        if entry.reply_to is not None:
            known = self._replies.setdefault((entry.logbook, entry.reply_to), [])
            known.append(entry.number)
            parent = book.get(entry.reply_to)
            if parent is not None and entry.number not in parent.children:
                parent.children.append(entry.number)
        return f"{entry.logbook}/{entry.number}"

    def edit(self, external_id: str, changes: Mapping[str, Any]) -> str:
        """Rewrite a message in place."""
        message = self.find(external_id)
        message.entry = replace(message.entry, **changes)
        if "time" in changes:
            message.written = message.entry.time.astimezone(self.zone)
        message.spoiled = False
        for name in changes:
            message.raw.pop(name, None)
        return external_id

    def delete(self, external_id: str) -> None:
        """Remove a message, all replies to it, and its parent's word of it."""
        name, _, number = external_id.rpartition("/")
        book = self.books[name]
        waiting = [int(number)]
        while waiting:
            gone = book.pop(waiting.pop(), None)
            waiting += gone.children if gone else []
        for message in book.values():
            message.children = [one for one in message.children if one in book]

    def find(self, external_id: str) -> Message:
        """Return a message by its external id."""
        name, _, number = external_id.rpartition("/")
        return self.books[name][int(number)]


def md5(data: bytes) -> str:
    """Return the hash as the listing shows it."""
    return hashlib.md5(data, usedforsecurity=False).hexdigest().upper()


def _value(text: str) -> bytes:
    """Return a value on one line, as a form sends it."""
    return " ".join(text.splitlines() or [""]).encode("utf-8", "surrogatepass")


def _plain(filename: str) -> str:
    """Return a name that the server stores: without folders, and with `_` for blanks.

    Seen of blanks; believed of commas and ends of lines, which its format forbids.
    """
    name = filename.replace("\\", "/").rpartition("/")[2]
    return "".join("_" if one in " ,\r\n\0" else one for one in name)
