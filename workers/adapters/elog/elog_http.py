"""PSI ELOG by its server: a listing with hashes for the tail, bulk for the history."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import ClassVar
from urllib.parse import unquote, urlsplit

from pydantic import Field

from shared.adapter_contract.contract import (
    NO_STATUS,
    AdapterDescriptor,
    AdapterPage,
    Cursor,
    IdStamp,
    RawItem,
    Recognition,
    Reply,
    Source,
    SourceIO,
    SourceReport,
    Window,
)
from shared.adapter_contract.entry import AttachmentRef, Entry
from shared.errors import IngestionError
from workers.adapters.elog import login, message_block, walk
from workers.adapters.elog.login import Login
from workers.adapters.elog.message_block import Block, ElogArgs, MessageOrigin
from workers.adapters.elog.walk import ElogWalk

_LISTED = re.compile(
    rb"ID:[ \t]*+(\d{1,18})[ \t]++MD5:[ \t]*+([0-9A-Fa-f]{32})[ \t\r]*+"
)
_SERVER = "ELOG HTTP"
_ERROR = b'class="errormsg"'
# As the page of all logbooks has it, that of a group of them, and older servers.
_LOGBOOK_LINK = re.compile(
    r"(?i)<a\s{1,8}href=\"?(?:\.\./)?([^\"'/?#<>\s]{1,100}+)/?\"?[\s>]"
)
_LOOKED_AT = 65_536
_MOST_FOUND = 50
_REFUSALS = frozenset({"login_required", "not_authorised"})
# The most single downloads for one page: the server answers one at a time.
_DOWNLOADS = 20


class ElogHTTPArgs(ElogArgs):
    """What may be said of an ELOG server beyond its address."""

    user: str | None = None
    """Who logs in where a logbook asks for it: by cookies, and where these are refused
    by the form. What was read by a login is restricted, see `readers`."""
    password: str | None = None
    """Name of the environment variable, or path of the file, that holds the password.
    """
    stretch_days: int = Field(30, ge=1, le=3650)
    """How many days of history are asked for at first; full stretches are followed by
    shorter ones, empty ones by longer ones."""


class ElogHTTP:
    """The logbooks of one elogd, a server that answers one request at a time."""

    descriptor: ClassVar[AdapterDescriptor] = AdapterDescriptor(
        name="elog_http",
        title="PSI ELOG, by its server",
        version=1,
        args=ElogHTTPArgs,
        capabilities=message_block.CAPABILITIES,
        max_concurrency=1,
    )

    def __init__(self, source: Source, io: SourceIO) -> None:
        self._source = source
        self._io = io
        given = source.args
        self._args = given if isinstance(given, ElogHTTPArgs) else ElogHTTPArgs()
        self._base, self._books = _books(source.base_url or "", self._args.logbooks)
        self._overlap = timedelta(seconds=source.overlap_seconds)
        self._login = Login(io, self._args.user, self._args.password)
        # Logbooks that want a login, and what they say.
        self._unread: dict[str, str] = {}
        # By logbook, as it was listed last.
        self._listed: dict[str, frozenset[int]] = {}

    def pages(
        self, since: Cursor | None, window: Window | None = None
    ) -> Iterator[AdapterPage]:
        """Yield the history book by book, each from its newest message back."""
        walk = ElogWalk.begin(
            since,
            window,
            now=self._io.now(),
            overlap=self._overlap,
            days=self._args.stretch_days,
            history_start=self._source.history_start,
        )
        stamps: dict[int, str] = {}
        known = -1
        while not walk.is_over(len(self._named())) and not self._io.is_cancelled():
            if known != walk.book:
                known = walk.book
                found = self._listing_unless_refused(self._named()[known])
                if found is None:
                    walk.pass_over()
                    continue
                stamps = found
            yield from self._stretch(walk, stamps)
        if self._unread and walk.is_over(len(self._named())):
            # The last logbook may be one of them: the walk is over all the same.
            cursor = walk.cursor(is_over=True)
            yield AdapterPage((), cursor, complete_to=walk.complete_to, is_last=True)

    def list_ids(self, window: Window | None) -> Iterator[IdStamp]:
        """Yield every message of every logbook; the listing knows no times."""
        del window
        for book in self._named():
            for mid, stamp in (self._listing_unless_refused(book) or {}).items():
                yield IdStamp(f"{book}/{mid}", stamp)

    def unread(self) -> Mapping[str, str]:
        """Return the logbooks that want a login that we have not."""
        return {f"{book}/": why for book, why in self._unread.items()}

    def fetch(self, external_id: str) -> RawItem | None:
        """Return one message; None if the server says that there is none."""
        book, _, mid = external_id.rpartition("/")
        if not mid.isdecimal() or not book:
            raise _unexpected(f"{external_id!r} is not the id of a message")
        reply = self._downloaded(book, mid)
        if reply is None:
            if self._is_listed(book, int(mid)):
                raise _unexpected(f"{external_id} is listed, and cannot be had")
            return None
        body = reply.body.lstrip()
        if not message_block.begins_with(body, int(mid)):
            raise _unexpected(f"{external_id} was answered with something else")
        return self._item(book, Block(int(mid), body), reply)

    def fetch_attachment(self, ref: AttachmentRef) -> Iterator[bytes]:
        """Yield the bytes of a file, asked for as its message was."""
        url = ref.url or ""
        book = url.removeprefix(f"{self._base}/").partition("/")[0]
        page = f"{self._base}/{book}/"
        if url.startswith(page):
            yield from self._login.stream(page, url)
            return
        # Another server is told nothing of our login.
        with self._io.http.stream(url) as pieces:
            yield from pieces

    def parse(self, raw: RawItem) -> Entry:
        """Return the entry of one message."""
        book = raw.external_id.rpartition("/")[0]
        place = MessageOrigin(
            logbook=book,
            url=f"{self._base}/{message_block.quoted(book)}",
            restricted=self._login.user is not None
            and not raw.media_type.endswith(message_block.OPEN),
        )
        return message_block.parse(raw, self._source, self._args, place)

    def check(self) -> SourceReport:
        """Count the messages, read the newest, and try each logbook without login."""
        entries, newest, guess = 0, None, None
        restricted: list[str] = []
        for book in self._named():
            found = self._listing_unless_refused(book)
            if found is None:
                continue
            entries += len(found)
            if not self._login.is_open(self._page_of(book)):
                restricted.append(book)
            last = self._downloaded(book, "-1")
            for block in message_block.split(last.body) if last else ():
                written = block.written(self._source)
                if written is not None and (newest is None or written > newest):
                    newest, guess = written, block.offset
        hidden = [
            book
            for book in self._named()
            if self._args.readers_of(book, restricted=book in restricted) == ()
        ]
        return SourceReport(
            newest=newest,
            timezone_guess=guess,
            entries=entries,
            restricted=tuple(restricted),
            hidden=tuple(hidden),
            problems=(
                *self._unread.values(),
                *(message_block.hidden(book) for book in hidden),
            ),
        )

    @classmethod
    def recognise(cls, url: str, io: SourceIO) -> Recognition | None:
        """Recognise an ELOG by the listing of a logbook, or of one on its page."""
        base, books = _books(url, ())
        if books and _is_listing(io, f"{base}/{message_block.quoted(books[0])}/"):
            return _recognised(io, base, books)
        root = url.rstrip("/")
        try:
            reply = io.http.get(f"{root}/")
        except IngestionError:
            return None
        is_elog = reply.headers.get("server", "").startswith(_SERVER)
        if is_elog and login.is_login(reply):
            return _recognised_behind_login(base, books)
        if reply.url.rstrip("/") != root:
            # The one logbook that there is, or its group.
            root, found = _books(reply.url, ())
        else:
            links = _LOGBOOK_LINK.findall(reply.text()[:_LOOKED_AT])
            named = dict.fromkeys(unquote(link) for link in links)
            found = tuple(named)[:_MOST_FOUND]
        if not found:
            return None
        if is_elog or _is_listing(io, f"{root}/{message_block.quoted(found[0])}/"):
            return _recognised(io, root, found)
        return None

    def _stretch(
        self, walk: ElogWalk, stamps: Mapping[int, str]
    ) -> Iterator[AdapterPage]:
        """Yield the messages of the stretch at hand, newest first, and step on."""
        book = self._named()[walk.book]
        try:
            reply = self._get(book, "", walk.params())
        except IngestionError as exc:
            if exc.reason != "too_large" or not walk.shorten():
                raise
            return
        rest = self._blocks(walk, reply)
        count = len(rest)
        while True:
            items, taken = self._page(book, rest, stamps, reply)
            last, rest = rest[taken - 1 : taken], rest[taken:]
            if rest and last:
                walk.after = last[0].key
            else:
                walk.step(count)
            is_over = walk.is_over(len(self._named()))
            if items or is_over:
                yield AdapterPage(
                    items=items,
                    cursor=walk.cursor(is_over=is_over),
                    complete_to=walk.complete_to if is_over else None,
                    is_last=is_over,
                )
            if not rest or self._io.is_cancelled():
                return

    def _page(
        self,
        book: str,
        found: Sequence[_FoundMessage],
        stamps: Mapping[int, str],
        reply: Reply,
    ) -> tuple[tuple[RawItem, ...], int]:
        """Return the items of a page, and of how many messages they are.

        What is not surely all of its message is downloaded: it may be a draft.
        """
        items: list[RawItem] = []
        asked = 0
        for place, one in enumerate(found):
            is_full = len(items) >= self._source.page_size or asked >= _DOWNLOADS
            if place and (is_full or self._io.is_cancelled()):
                return tuple(items), place
            stamp = stamps.get(one.block.mid)
            if stamp is not None and one.block.is_hashed(stamp):
                items.append(self._item(book, one.block, reply, stamp))
                continue
            asked += 1
            item = self.fetch(f"{book}/{one.block.mid}")
            if item is not None:
                items.append(replace(item, stamp=stamp))
        return tuple(items), len(found)

    def _blocks(self, walk: ElogWalk, reply: Reply) -> list[_FoundMessage]:
        body = reply.body.lstrip()
        if body and not body.startswith(b"$@MID@$:"):
            raise _unexpected("the list of messages was answered with something else")
        found = [
            _FoundMessage(block, block.written(self._source))
            for block in message_block.split(body)
        ]
        wanted = [one for one in found if walk.holds(one.written, one.key)]
        return sorted(wanted, key=lambda one: one.key, reverse=True)

    def _item(
        self, book: str, block: Block, reply: Reply, stamp: str | None = None
    ) -> RawItem:
        is_open = self._login.is_open(self._page_of(book))
        access = message_block.OPEN if is_open and self._login.user else ""
        return RawItem(
            external_id=f"{book}/{block.mid}",
            payload=block.data,
            media_type=f"{message_block.MEDIA_TYPE}{access}",
            charset=reply.charset,
            url=f"{self._base}/{message_block.quoted(book)}/{block.mid}",
            fetched_at=reply.fetched_at,
            stamp=stamp,
        )

    def _downloaded(self, book: str, which: str) -> Reply | None:
        """Ask for one message; None: it was answered twice as if there were none.

        Of a message that is gone elogd hangs up without a byte, as it does when it is
        stopped, or tired of a connection. Older ones send an empty or an error page.
        """
        for _ in range(2):
            params = [("cmd", "Download")]
            reply = self._get(book, which, params, allow=(NO_STATUS, 404, 410))
            if reply.status != HTTPStatus.OK or not reply.body.strip():
                continue
            if _ERROR not in reply.body[:_LOOKED_AT]:
                return reply
        return None

    def _is_listed(self, book: str, mid: int) -> bool:
        """Tell whether the listing names a message; it is read again before it does."""
        if mid in self._listed.get(book, {mid}):
            self._listing(book)
        return mid in self._listed[book]

    def _listing(self, book: str) -> dict[int, str]:
        """Return the hash of every message by number; anything odd is no listing."""
        reply = self._get(book, "", [("cmd", "GetMD5")])
        lines = [line for line in reply.body.split(b"\n") if line.strip()]
        listed = [_LISTED.fullmatch(line) for line in lines]
        if not listed or None in listed:
            raise _unexpected(f"the listing of {book} is none")
        stamps = {
            int(one[1]): one[2].decode("ascii").lower()
            for one in listed
            # Zero is the configuration.
            if one is not None and int(one[1]) != 0
        }
        self._listed[book] = frozenset(stamps)
        return stamps

    def _listing_unless_refused(self, book: str) -> dict[int, str] | None:
        """Return the listing; None where it wants a login, and others do not."""
        try:
            return self._listing(book)
        except IngestionError as exc:
            if exc.reason not in _REFUSALS:
                raise
            self._unread[book] = exc.message
            if len(self._unread) == len(self._named()):
                raise
            return None

    def _get(
        self,
        book: str,
        rest: str,
        params: Sequence[tuple[str, str]],
        allow: Sequence[int] = (),
    ) -> Reply:
        return self._login.get(self._page_of(book), rest, params, allow)

    def _page_of(self, book: str) -> str:
        return f"{self._base}/{message_block.quoted(book)}/"

    def _named(self) -> tuple[str, ...]:
        if not self._books:
            message = (
                "It is not said which logbooks of this ELOG to read: name them in"
                " `args.logbooks`."
            )
            raise IngestionError(message, reason="no_logbooks")
        return self._books


@dataclass(frozen=True, slots=True)
class _FoundMessage:
    """A message of a bulk answer, and when it was written."""

    block: Block
    written: datetime | None

    @property
    def key(self) -> tuple[int, int]:
        """Return the message's place in time; without a time it is the oldest."""
        return walk.key(self.written, self.block.mid)


def _books(url: str, named: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """Return the server's address and the logbooks; an address may name one itself."""
    base = url.rstrip("/")
    path = urlsplit(base).path
    if named or not path.strip("/"):
        return base, named
    parent, _, last = base.rpartition("/")
    return parent, (unquote(last),)


def _is_listing(io: SourceIO, url: str) -> bool:
    try:
        reply = io.http.get(url, params=[("cmd", "GetMD5")])
    except IngestionError:
        return False
    return _LISTED.fullmatch(reply.body.lstrip().partition(b"\n")[0]) is not None


def _recognised(io: SourceIO, base: str, books: tuple[str, ...]) -> Recognition:
    return Recognition(
        settings={"base_url": base, "args": {"logbooks": list(books)}},
        confidence=0.95,
        why=f"an elogd that keeps {', '.join(books)}",
        asks=("timezone",) if _has_no_zone(io, base, books[0]) else (),
    )


def _recognised_behind_login(base: str, books: tuple[str, ...]) -> Recognition:
    return Recognition(
        settings={"base_url": base, "args": {"logbooks": list(books)}},
        confidence=0.8,
        why="an elogd that asks for a login",
        asks=("user", "password", *(() if books else ("logbooks",))),
    )


def _has_no_zone(io: SourceIO, base: str, book: str) -> bool:
    """Tell whether the newest message does not say in which zone it was written."""
    page = f"{base}/{message_block.quoted(book)}/"
    try:
        reply = Login(io, None, None).get(
            page, "-1", [("cmd", "Download")], allow=(NO_STATUS, 404)
        )
    except IngestionError:
        # Whoever has no login yet cannot tell.
        return False
    blocks = message_block.split(reply.body)
    return bool(blocks) and blocks[0].offset is None


def _unexpected(what: str) -> IngestionError:
    return IngestionError(f"ELOG: {what}.", reason="unexpected_shape")
