"""An elogd: one request at a time, login pages with status 200, and a lying charset.

It answers as elogd 3.1.5 was seen to answer with 1,750 entries in nine logbooks; what
older ones are known to do otherwise is `is_old`.
"""

import email
import secrets
import threading
from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any
from urllib.parse import unquote

from tests.contract.stubs import elog_message
from tests.contract.stubs.elog_message import Logbooks, Message
from tests.contract.stubs.serving import (
    LOGIN_PAGE,
    StubAnswer,
    StubRequest,
    StubServer,
    say_nothing,
)
from workers.adapters.kit.stub import StubEntry

WALL_TIME = elog_message.WALL_TIME
# Seen: of pages, of the listing, and of messages; older ones say ISO-8859-1 of all.
_HTML, _LISTING, _TEXT = (
    *("text/html;charset=UTF-8", "text/plain;charset=ISO-8859-1"),
    "text/plain",
)
_CONFIGURATION = "0123456789ABCDEF0123456789ABCDEF"
_FIRST_OF_ITS_CENTURY, _FIRST_YEAR = 1990, 1970
_NEW_USER = (
    b'<html><head><title>ELOG new user</title></head><body><form method="POST">'
    b'<input type="password" name="newpwd"></form></body></html>'
)
_NO_FILE = (
    b"<!DOCTYPE html>\n<html><head><title>404 Not Found</title></head>\n"
    b"<body><h1>Not Found</h1>The requested file was not found</body></html>\n"
)
# What elogd makes of a password. Read in source (`do_crypt`): SHA-256 crypt, no salt;
# as crypt(3) of glibc computes it, of whose answer the first four letters go.
_CRYPTED = {
    "s3cret": "hkYmSOuCcBF9ZgVNLavZEtJa91liblYCom0avzJUo20",
    "another": "afB7rdERK9D5oLyJL8/R82wKTZtIVrByLe9ONrSq5V5",
}
_ERROR_PAGE = b'<html><td class="errormsg">This message does not exist</td></html>'


class ElogServerStub:
    """The requests that matter, each with its habits."""

    def __init__(
        self,
        *,
        user: str | None = None,
        password: str = "",
        asks_others: bool = False,
        is_old: bool = False,
        logbooks: tuple[str, ...] = ("Operations",),
    ) -> None:
        self.logbooks = Logbooks()
        self.is_old = is_old
        self.says_missing_in_html = False
        self.is_group = False
        # Logbooks without a login, beside those that have one.
        self.open_books: set[str] = set()
        # Messages at which it hangs up though they are there.
        self.never_answers: set[int] = set()
        self.redirects_to_login = False
        # Attributes of messages that the configuration has no more.
        self.unconfigured: frozenset[str] = frozenset()
        self._listed = list(logbooks)
        self._user, self._password = user, password
        # Somebody else knows the passwords (PAM, LDAP): cookies with one are refused.
        self._asks_others = asks_others
        self._sessions: set[str] = set()
        # What each request said of who asks.
        self.cookies: list[str | None] = []
        self._one_at_a_time = threading.Lock()
        self._server = StubServer(self._answer)
        self._server.software = "ELOG HTTP 3.1.5-3bf3c6d"
        self.base_url = self._server.base_url
        self.fault = self._server.fault
        self.requests = self._server.requests
        self.close = self._server.close
        self.stop, self.start = self._server.stop, self._server.start

    def settings(self) -> Mapping[str, Any]:
        """Return what a source needs to read this."""
        return {
            "adapter": "elog_http",
            "base_url": self.base_url,
            "concurrency": 1,
            "timezone": elog_message.SERVER_ZONE,
            "args": {"logbooks": list(self._listed)},
        }

    def add(self, entry: StubEntry) -> str:
        """Take a message in; nothing changes while an answer is made."""
        with self._one_at_a_time:
            if entry.logbook not in self._listed:
                self._listed.append(entry.logbook)
            return self.logbooks.add(entry)

    def edit(self, external_id: str, **changes: Any) -> str:
        """Rewrite a message."""
        with self._one_at_a_time:
            return self.logbooks.edit(external_id, changes)

    def delete(self, external_id: str) -> None:
        """Remove a message with its replies; its number may come again."""
        with self._one_at_a_time:
            self.logbooks.delete(external_id)

    def malform(self, external_id: str) -> None:
        """Let a message say its date in words."""
        self.logbooks.find(external_id).spoiled = True

    def set_bytes(self, external_id: str, field_name: str, data: bytes) -> None:
        """Put raw bytes into a message; nobody checks what a browser sends."""
        self.logbooks.find(external_id).raw[field_name] = data

    def clock_offset(self, seconds: float) -> None:
        """Let the server's clock go wrong."""
        self.logbooks.offset = timedelta(seconds=seconds)

    def _answer(self, request: StubRequest) -> StubAnswer:
        # A second request hangs until the first is done.
        with self._one_at_a_time:
            self.cookies.append(request.headers.get("cookie"))
            sent = request.headers.get("cookie", "")
            book = request.path.split("/")[1]
            # The page of all logbooks is open where any of them is.
            is_open = book in self.open_books or (not book and self.open_books)
            if self._user is None or is_open:
                if "upwd=" in sent and not self.is_old:
                    # Seen: an open logbook takes a password for a new user's.
                    return StubAnswer(_NEW_USER, media_type=_HTML)
                return self._answer_known(request)
            if request.method == "POST":
                return self._log_in(request)
            if self._knows(request.headers.get("cookie", "")):
                return self._answer_known(request)
            return self._ask_for_login()

    def guard(self, *books: str) -> None:
        """Let these logbooks, and no others, want a login."""
        self._user, self._password = ("operator", "s3cret") if books else (None, "")
        self.open_books = set(self._listed) - set(books)

    def change_password(self, password: str) -> None:
        """Let the logbooks want another password, as a server that was restarted."""
        self._password = password
        self.end_sessions()

    def end_sessions(self) -> None:
        """Forget who has logged in, as a restart does."""
        self._sessions.clear()

    def _knows(self, sent: str) -> bool:
        told = dict(pair.split("=", 1) for pair in sent.split("; ") if "=" in pair)
        if "upwd" in told:
            # It is looked at first, and a session beside it is of no use.
            return not self._asks_others and told == {
                "unm": self._user,
                "upwd": _CRYPTED[self._password],
            }
        return told.get("sid") in self._sessions

    def _log_in(self, request: StubRequest) -> StubAnswer:
        head = f"Content-Type: {request.headers.get('content-type')}\r\n\r\n"
        sent = email.message_from_bytes(head.encode() + request.body)
        given = {
            str(part.get_param("name", header="content-disposition")): part
            for part in sent.walk()
            if not part.is_multipart()
        }
        told = [
            bytes(given[name].get_payload(decode=True)).decode()
            for name in ("uname", "upassword")
            if name in given
        ]
        if told != [self._user, self._password]:
            return StubAnswer(LOGIN_PAGE, media_type=_HTML)
        session = secrets.token_hex(8).upper()
        self._sessions.add(session)
        return StubAnswer(
            b"",
            302,
            _HTML,
            {"Set-Cookie": f"sid={session}; path=/;", "Location": request.path},
        )

    def _ask_for_login(self) -> StubAnswer:
        if self.redirects_to_login:
            return StubAnswer(b"", 302, _HTML, {"Location": "/?fail=1"})
        return StubAnswer(LOGIN_PAGE, media_type=_HTML)

    def _answer_known(self, request: StubRequest) -> StubAnswer:
        parts = [unquote(part) for part in request.path.strip("/").split("/")]
        params = dict(request.query)
        if parts == [""]:
            return self._selection()
        book = self.logbooks.books.get(parts[0], {})
        if parts[0] not in self._listed:
            return StubAnswer(_ERROR_PAGE, 404, _HTML)
        match parts[1:]:
            case [] if params.get("cmd") == "GetMD5":
                return self._listing(book)
            case [] if params.get("mode") == "Raw":
                return self._raw(book, params)
            case [number] if params.get("cmd") == "Download":
                return self._download(book, number)
            case [_, _]:
                return self._file(book, "_".join(parts[1:]))
        return StubAnswer(b"<html><body>A logbook</body></html>", media_type=_HTML)

    def _selection(self) -> StubAnswer:
        # Seen: the bare name, and on the page of a top group `../name/`.
        form = "{0}/" if self.is_old else "../{0}/" if self.is_group else "{0}"
        links = "".join(
            f'<a href="{form.format(name)}">{name}</a>' for name in self._listed
        )
        return StubAnswer(f"<html>{links}</html>".encode(), media_type=_HTML)

    def _listing(self, book: Mapping[int, Message]) -> StubAnswer:
        lines = [f"ID: {0:6d} MD5:{_CONFIGURATION}"]
        lines += [
            f"ID: {number:6d} MD5:{elog_message.md5(message.block())}"
            for number, message in sorted(book.items())
        ]
        mode = self._server.listing_fault()
        if mode == "empty_listing":
            lines = lines[:1]
        elif mode == "cut_listing":
            lines = lines[: max(1, len(lines) // 2)]
        return StubAnswer(
            "".join(f"{line}\n" for line in lines).encode(), media_type=_LISTING
        )

    def _raw(
        self, book: Mapping[int, Message], params: Mapping[str, str]
    ) -> StubAnswer:
        years = [int(params[name]) for name in ("ya", "yb") if name in params]
        first, last = _day(params, "a"), _day(params, "b")
        is_turned = first is not None and last is not None and first > last
        if is_turned or min(years, default=_FIRST_YEAR) < _FIRST_YEAR:
            return StubAnswer(_ERROR_PAGE, 404, _HTML)
        found = [
            message
            for message in sorted(book.values(), key=lambda one: one.written)
            if (first is None or message.written.date() >= first)
            and (last is None or message.written.date() <= last)
        ]
        body = b"".join(message.in_bulk(self.unconfigured) for message in found)
        return StubAnswer(body, media_type=self._text)

    def _download(self, book: Mapping[int, Message], number: str) -> StubAnswer:
        message = None
        if number == "-1":
            message = max(book.values(), key=lambda one: one.written, default=None)
        elif number.isdecimal():
            message = book.get(int(number))
        if message is not None and message.entry.number not in self.never_answers:
            return StubAnswer(message.block(), media_type=self._text)
        # Seen: of a message that is gone, and of the last one of an empty logbook, the
        # connection is closed without a byte; older ones send nothing or a page.
        if self.says_missing_in_html:
            return StubAnswer(_ERROR_PAGE, media_type=_HTML)
        takes_over = None if self.is_old else say_nothing
        return StubAnswer(b"", media_type=self._text, takes_over=takes_over)

    @property
    def _text(self) -> str:
        return _LISTING if self.is_old else _TEXT

    def _file(self, book: Mapping[int, Message], stored: str) -> StubAnswer:
        for message in book.values():
            file = message.files().get(stored)
            if file is not None and not file.missing:
                return StubAnswer(file.content, media_type="application/octet-stream")
        # Seen: with status 200.
        return StubAnswer(_NO_FILE, 404 if self.is_old else 200, _HTML)


make_stub = ElogServerStub


def _day(params: Mapping[str, str], which: str) -> date | None:
    """Return a day as elogd reads it (`retrieve_date`): seen, 1975 was 2075."""
    try:
        year, month, day = (int(params[f"{part}{which}"]) for part in "ymd")
    except (KeyError, ValueError):
        return None
    return date(year + 100 if year < _FIRST_OF_ITS_CENTURY else year, month, day)
