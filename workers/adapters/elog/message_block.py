"""One message of a PSI ELOG: the same block on disk, downloaded, and in bulk."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote

from pydantic import Field

from shared import entry_fields
from shared.adapter_contract.contract import (
    AdapterArgs,
    AdapterCapabilities,
    RawItem,
    Source,
)
from shared.adapter_contract.entry import AttachmentRef, Entry, TextFormat
from shared.errors import MalformedEntryError
from shared.text import decoding
from shared.times import source_times

MEDIA_TYPE = "text/x-elog"
# Behind it stands what was known of who may read: of a server to which a login is
# given, that it was not needed; of files, that a logbook is not known to be open.
OPEN, RESTRICTED = "; access=open", "; access=restricted"
# A server names its files by address; what reads a folder names them by id.
CAPABILITIES = AdapterCapabilities(
    order="none",
    edits="index",
    deletes="index",
    replies="parent",
    attachments="by_url",
    readers="book",
    windows=True,
    scoped_ids=True,
    drafts=True,
)

# Digits alone on their line: a body that quotes the mark inside a line splits nothing.
_START = re.compile(rb"^\$@MID@\$: *+(\d{1,18})[ \t\r]*+$", re.MULTILINE)
_SEPARATOR = re.compile(rb"^={40}\r*+$", re.MULTILINE)
_LINE_OF_SEPARATOR = b"=" * 40 + b"\n"
# Ends that a text may have in its file, and not where it is listed.
_TEXT_ENDS = (b"\n", b"\n\n", b"\r\n\n", b"\r\n", b"")
# From its first \r on, or a run of them would be walked once for each.
_LINE_END = re.compile(rb"(?<!\r)\r*+\n")
_DATE = re.compile(rb"^Date:([^\n]{0,200})", re.MULTILINE)
_OFFSET = re.compile(rb"([+-]\d\d)(\d\d)[ \t\r]*+$")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f]")
_STORED_NAME = re.compile(r"(\d{6}_\d{6})[_/](.+)", re.DOTALL)
# elog:123, elog:Book/123, elog:123/1 (a file of it).
_LINK = re.compile(r"\belog:/?+([^\s/\[\]<>\"'()]{1,128}+)(?:/(\d{1,18}+))?")
_WIDE = re.compile(r"(?i)utf[-_ ]?(?:16|32)")
# What its charset lacks, a browser sends as a number; below stand marks and quotes.
_REFERENCE = re.compile(r"&#(\d{3,7}+);")
_FIRST_REFERENCE, _LAST_REFERENCE = 160, 0x10FFFF
_MOST_RELATED = 100
_MOST_HEAD_LINES = 20_000
# What even plain ASCII has to be looked through for.
_IN_ASCII = re.compile(rb"\x00|&#")

_FORMATS: Mapping[str, TextFormat] = {
    "plain": "plain",
    "html": "html",
    "elcode": "elcode",
}
_OWN = frozenset(
    {
        *("date", "reply to", "in reply to", "attachment", "encoding"),
        *("locked by", "draft", "$@mid@$"),
    }
)

if TYPE_CHECKING:
    Target = str
else:
    # Type checkers want literals that are written out; these come from the table.
    Target = Literal[
        *("title", "authors", "tags", *sorted(entry_fields.NAMES)),
        *("event_time", "metadata"),
    ]


class ElogArgs(AdapterArgs):
    """What may be said of an ELOG, however it is read."""

    logbooks: tuple[str, ...] = ()
    """The logbooks to read, as their addresses or folders call them."""
    attributes: dict[str, Target] = Field(
        {
            "Subject": "title",
            "Author": "authors",
            "Type": "tags",
            "Category": "category",
        },
        description="What becomes of a logbook's attributes; others are metadata.",
    )
    author_separator: str = ","
    """What stands between two authors of one message."""
    readers: dict[str, tuple[str, ...] | None] | None = None
    """Who may read a logbook, by its name, `*` for those not named; null: whoever may
    read the source. A logbook that is not named is hidden."""
    date_attributes: tuple[str, ...] = ()
    """Attributes that hold a date, which ELOG stores as a number."""
    read_locked: bool = False
    """Read a message that somebody has open for editing as it was last saved, and do
    not wait for its end."""
    resolve_references: bool = True
    """Read &#8364; as the character it stands for in texts that are not HTML: so ELOG
    stores what its charset lacks."""

    def readers_of(self, logbook: str, *, restricted: bool) -> tuple[str, ...] | None:
        """Return who may read a logbook; rights that nobody told mean nobody."""
        if self.readers is None:
            return () if restricted else None
        if logbook in self.readers:
            return self.readers[logbook]
        return self.readers.get("*", ())


@dataclass(frozen=True, slots=True)
class Block:
    """One message as received, and its number."""

    mid: int
    data: bytes

    @property
    def stamp(self) -> str:
        """Return a stamp that changes with the message, but not with its line ends."""
        plain = _LINE_END.sub(b"\n", self.data).rstrip(b"\n")
        return hashlib.md5(plain, usedforsecurity=False).hexdigest()

    def is_hashed(self, stamp: str) -> bool:
        """Tell whether a listing's hash is this message's, so that nothing is missing.

        The server hashes what its file holds. In bulk it leaves out that a message is a
        draft, and attributes that it is no longer configured for; the ends of lines of
        the head are others there, those of the text are as they were posted.
        """
        parts = _SEPARATOR.split(self.data, maxsplit=1)
        if len(parts) == 1:
            return False
        head = _LINE_END.sub(b"\n", parts[0])
        text = parts[1].removeprefix(b"\n").removesuffix(b"\r\n")
        shorter = text.rstrip(b"\r\n")
        plain = hashlib.md5(head + _LINE_OF_SEPARATOR + shorter, usedforsecurity=False)
        for end in (text[len(shorter) :] + b"\n", *_TEXT_ENDS):
            whole = plain.copy()
            whole.update(end)
            if whole.hexdigest() == stamp:
                return True
        return False

    def written(self, source: Source) -> datetime | None:
        """Return the time that it says it was written, if that can be read."""
        found = _DATE.search(self.data)
        if found is None:
            return None
        try:
            return _moment(found[1].decode("ascii", "replace"), source).at
        except MalformedEntryError:
            return None

    @property
    def offset(self) -> str | None:
        """Return the server's offset when it was written; None: it has no zone."""
        date = _DATE.search(self.data)
        found = _OFFSET.search(date[1]) if date else None
        return f"{found[1].decode()}:{found[2].decode()}" if found else None


@dataclass(frozen=True, slots=True)
class MessageOrigin:
    """The logbook, the address and the rights that a message's entry gets."""

    logbook: str
    # The address of the logbook without a slash at its end; None: it has none.
    url: str | None
    restricted: bool = False


def hidden(book: str) -> str:
    """Return a sentence that nobody may read a logbook, and how to change that."""
    return (
        f"Nobody may read {book}: say in `args.readers` who may, as `{book}: [group]`,"
        f" or `{book}: null` for whoever may read the source. `logchord source reload`"
        " then has what is here read anew."
    )


def split(data: bytes) -> list[Block]:
    """Return the messages of a text; whatever stands before the first is none."""
    starts = [found for found in _START.finditer(data) if _begins(data, found)]
    ends = [*(found.start() for found in starts), len(data)][1:]
    return [
        Block(int(found[1]), data[found.start() : end])
        for found, end in zip(starts, ends, strict=True)
    ]


def is_whole(data: bytes, blocks: Sequence[Block]) -> bool:
    """Tell whether a text looks finished, and not caught in the middle of a write."""
    if not blocks or _START.match(data) is None or not data.endswith(b"\n"):
        return False
    return _SEPARATOR.search(blocks[-1].data) is not None


def quoted(part: str) -> str:
    """Return a part of an address; half a surrogate pair names nothing anyway."""
    return quote(part, safe="", errors="replace")


def begins_with(data: bytes, mid: int) -> bool:
    """Tell whether a text is the message of this number."""
    found = _START.match(data)
    return found is not None and int(found[1]) == mid


def parse(raw: RawItem, source: Source, args: ElogArgs, place: MessageOrigin) -> Entry:
    """Return the entry of one message, or raise MalformedEntryError."""
    data = raw.payload.encode() if isinstance(raw.payload, str) else raw.payload
    if not isinstance(data, bytes):
        raise _malformed("it is no text")
    parts = _SEPARATOR.split(data, maxsplit=1)
    if len(parts) == 1:
        raise _malformed("no line of 40 = ends its head", "no_separator")
    text = _Text(raw.charset, resolve=args.resolve_references)
    head = _head(parts[0], text)
    if head.get("draft") or (head.get("locked by") and not args.read_locked):
        raise _malformed("its author has not finished it", "pending")
    written = _moment(head.get("date", ""), source)
    text_format = _FORMATS.get(head.get("encoding", "").lower(), "plain")
    body = text.read(_body(parts[1]), is_html=text_format == "html")
    mapped = _MappedAttributes(head, args, source)
    words: dict[str, Any] = {
        name: mapped.one(name) or None for name in entry_fields.NAMES
    }
    return Entry(
        external_id=raw.external_id,
        entry_time=written.at,
        title=mapped.one("title"),
        text=body,
        text_format=text_format,
        event_time=mapped.event_time,
        authors=mapped.authors,
        logbooks=(place.logbook,),
        tags=mapped.many("tags"),
        **words,
        readers=args.readers_of(place.logbook, restricted=place.restricted),
        reply_to=_parent(head, place.logbook),
        related=_related(body, place.logbook, raw.external_id),
        attachments=_attachments(head.get("attachment", ""), place),
        metadata=mapped.metadata,
        url=_page(raw.external_id, place),
        flags=(*written.flags, *text.flags),
    )


class _Text:
    """Bytes read as text, value by value, for a logbook mixes its charsets."""

    def __init__(self, declared: str | None, *, resolve: bool) -> None:
        # Its marks were found as ASCII: whoever declares wider letters does not know.
        is_wide = declared is not None and _WIDE.search(declared)
        self._declared = None if is_wide else declared
        self._resolve = resolve
        self._flags: dict[str, None] = {}

    @property
    def flags(self) -> tuple[str, ...]:
        """Return the flags for what had to be repaired or guessed so far."""
        return tuple(self._flags)

    def read(self, data: bytes, *, is_html: bool = False) -> str:
        """Return the text of some bytes."""
        if data.isascii() and not _IN_ASCII.search(data):
            return data.decode("ascii")
        found = decoding.decode(data, self._declared)
        if found.repaired:
            self._flags["repaired"] = None
        if found.guessed:
            self._flags["charset_guess"] = None
        if is_html or not self._resolve or "&#" not in found.text:
            return found.text
        return _REFERENCE.sub(_resolved, found.text)


class _MappedAttributes:
    """The configured attributes of a message, by what becomes of them."""

    def __init__(self, head: Mapping[str, str], args: ElogArgs, source: Source) -> None:
        dates = {name.lower() for name in args.date_attributes}
        targets = {name.lower(): target for name, target in args.attributes.items()}
        self._separator = args.author_separator
        self._found: dict[str, list[str]] = {}
        self.metadata: dict[str, str] = {}
        self.event_time: datetime | None = None
        for key, value in head.items():
            name = key.lower()
            if name in _OWN or not value:
                continue
            target = targets.get(name, "metadata")
            if target == "event_time":
                self.event_time = self.event_time or _maybe_moment(value, source)
                if self.event_time is None:
                    self.metadata[key] = value
            elif target == "metadata":
                dated = _maybe_moment(value, source) if name in dates else None
                self.metadata[key] = dated.isoformat() if dated else value
            else:
                self._found.setdefault(target, []).append(value)

    def one(self, target: Target) -> str:
        """Return the attributes of a target joined as one text."""
        return " | ".join(self._found.get(target, ()))

    def many(self, target: Target) -> tuple[str, ...]:
        """Return the single values of a target, each once."""
        values = [
            part.strip()
            for value in self._found.get(target, ())
            for part in value.split(" | ")
        ]
        return tuple(dict.fromkeys(part for part in values if part))

    @property
    def authors(self) -> tuple[str, ...]:
        """Return the people who wrote it."""
        names = [
            name.strip()
            for value in self.many("authors")
            for name in (value.split(self._separator) if self._separator else [value])
        ]
        return tuple(dict.fromkeys(name for name in names if name))


def _begins(data: bytes, found: re.Match[bytes]) -> bool:
    """Tell a message from a quotation of its first line: a date or an end follows."""
    after = found.end() + 1
    if data.startswith(b"Date:", after):
        return True
    following = _START.search(data, after)
    end = following.start() if following else len(data)
    return _SEPARATOR.search(data, after, end) is not None


def _head(data: bytes, text: _Text) -> dict[str, str]:
    """Return the lines before the separator; a value may hold colons of its own."""
    lines = data.split(b"\n")
    if len(lines) > _MOST_HEAD_LINES:
        raise _malformed(f"its head has {len(lines)} lines", "odd_head")
    found: dict[str, str] = {}
    for line in lines:
        if not line.strip():
            continue
        key, colon, value = line.partition(b":")
        if not colon:
            raise _malformed("a line of its head names no attribute", "odd_head")
        name = text.read(key.strip())
        plain = text.read(value.strip())
        own = name.lower()
        found.setdefault(own if own in _OWN else name, plain)
    return found


def _body(data: bytes) -> bytes:
    """Return the text without the ends of lines that differ from way to way."""
    return _LINE_END.sub(b"\n", data).removeprefix(b"\n").rstrip(b"\n")


def _moment(value: str, source: Source) -> source_times.Moment:
    return source_times.parse_source_time(
        value.strip(), zone=source.timezone, fold=source.tz_fold
    )


def _maybe_moment(value: str, source: Source) -> datetime | None:
    try:
        return _moment(value, source).at
    except MalformedEntryError:
        return None


def _resolved(found: re.Match[str]) -> str:
    number = int(found[1])
    if not _FIRST_REFERENCE <= number <= _LAST_REFERENCE:
        return found[0]
    return chr(number)


def _parent(head: Mapping[str, str], logbook: str) -> str | None:
    first = head.get("in reply to", "").partition(",")[0].strip()
    if not first.isdecimal() or not first.isascii() or int(first[:18]) == 0:
        return None
    return f"{logbook}/{first}"


def _related(body: str, logbook: str, own: str) -> tuple[str, ...]:
    """Return the messages that a text links to, in its own logbook or another."""
    found: dict[str, None] = {}
    for link in _LINK.finditer(body):
        name, number = link[1], link[2]
        digits = re.match(r"\d+", name, re.ASCII)
        if digits is not None and (
            number is not None or digits[0] == name.rstrip(".,;:")
        ):
            target = f"{logbook}/{digits[0]}"
        elif number is not None:
            target = f"{name}/{number}"
        else:
            continue
        if target != own:
            found[target] = None
        if len(found) == _MOST_RELATED:
            break
    return tuple(found)


def _attachments(names: str, place: MessageOrigin) -> tuple[AttachmentRef, ...]:
    found: dict[str, AttachmentRef] = {}
    for stored in names.split(","):
        name = stored.strip()
        if not name:
            continue
        parts = _STORED_NAME.fullmatch(name)
        address = None
        if place.url is not None:
            # What stands behind the seconds is a slash in an address.
            path = f"{parts[1]}/{quoted(parts[2])}" if parts else quoted(name)
            address = f"{place.url}/{path}"
        found[name] = AttachmentRef(
            # Without an address its logbook tells where it lies.
            id=name if address else f"{place.logbook}/{name}",
            filename=_CONTROLS.sub("_", parts[2] if parts else name),
            url=address,
        )
    return tuple(found.values())


def _page(external_id: str, place: MessageOrigin) -> str | None:
    if place.url is None:
        return None
    return f"{place.url}/{quoted(external_id.rpartition('/')[2])}"


def _malformed(what: str, reason: str = "unexpected_shape") -> MalformedEntryError:
    return MalformedEntryError(f"The message cannot be read: {what}.", reason=reason)
