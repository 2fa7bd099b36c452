"""How an ELOG server is told who asks: by two cookies, or by its form."""

import re
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Literal
from urllib.parse import unquote

from shared.adapter_contract.contract import NO_STATUS, Reply, SourceIO
from shared.errors import IngestionError

_PASSWORD_FIELD = re.compile(rb"(?i)type\s{0,8}=\s{0,8}[\"']?password")
_LOOKED_AT = 65_536
# A message, and a listing.
_OURS = (b"$@MID@$:", b"ID:")
# elogd answers with such a page, and with status 200, if a file is gone.
_NO_FILE = re.compile(rb"(?i)^\s{0,64}<(?:!doctype|html)[\s\S]{0,400}404 Not Found")
_LOOKED_AT_FILE = 1024
_SESSION = re.compile(r"(?:^|[,;\s])sid=([0-9A-Za-z]{8,64})(?![0-9A-Za-z])")
# Success leads on to a page that nobody needs.
_LED_ON = (302, 303)
Way = Literal["nobody", "cookie", "form"]
_WAYS: tuple[Way, ...] = ("nobody", "cookie", "form")
_ROUNDS = 5000
_ALPHABET = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
# In which order the 32 bytes of a digest are written, three at a time.
_TRIPLES = (
    *((0, 10, 20), (21, 1, 11), (12, 22, 2), (3, 13, 23), (24, 4, 14)),
    *((15, 25, 5), (6, 16, 26), (27, 7, 17), (18, 28, 8), (9, 19, 29)),
)


class Login:
    """Asks a server for its logbooks, each as it wants to be asked.

    Passwords are of logbooks: one may be open and the next guarded, and of an open one
    elogd answers whoever brings a password with its page for new users. So nobody asks
    first. Then come two cookies, which are enough where the server keeps the passwords
    itself. Where it asks somebody else (PAM, LDAP, Kerberos) it answers with its form;
    the form makes a session, which is told by one cookie and may end at any time.
    """

    def __init__(self, io: SourceIO, user: str | None, secret: str | None) -> None:
        self.user = user
        self._io = io
        self._secret = secret
        self._cookie: str | None = None
        self._session: str | None = None
        # By the page of each logbook.
        self._ways: dict[str, Way] = {}

    def is_open(self, page: str) -> bool:
        """Tell whether a logbook was read by nobody, or nobody is all that we are."""
        return self.user is None or self._ways.get(page) == "nobody"

    def get(
        self,
        page: str,
        rest: str = "",
        params: Sequence[tuple[str, str]] = (),
        allow: Sequence[int] = (),
    ) -> Reply:
        """Ask for something below a logbook's page, or raise that it wants a login."""

        def ask(cookie: str | None) -> Reply | None:
            headers = {} if cookie is None else {"Cookie": cookie}
            try:
                reply = self._io.http.get(
                    f"{page}{rest}", params=params, headers=headers, allow=allow
                )
            except IngestionError as exc:
                if exc.reason != "login_required":
                    raise
                return None
            return None if is_login(reply) else reply

        for way in self._order(page):
            reply = self._asked(way, page, ask)
            if reply is not None:
                self._note(page, way)
                return reply
        raise refusal(page)

    def stream(self, page: str, url: str) -> Iterator[bytes]:
        """Read a file that lies below a logbook's page."""
        if self.user is not None:
            # A file cannot be told from a form: ask for what can, first.
            self.get(page, "-1", [("cmd", "Download")], allow=(NO_STATUS, 404))
        with self._io.http.stream(url, headers=self._headers(page)) as pieces:
            first = next(pieces, b"")
            if _NO_FILE.search(first[:_LOOKED_AT_FILE]):
                raise IngestionError("The ELOG has this file no more.", reason="gone")
            yield first
            yield from pieces

    def _order(self, page: str) -> Sequence[Way]:
        """Return the ways of asking, the one that was right the last time first."""
        if self.user is None:
            return ("nobody",)
        known = self._ways.get(page) or self._io.memory.get(f"login:{page}")
        return sorted(_WAYS, key=lambda way: way != known)

    def _note(self, page: str, way: Way) -> None:
        if self._ways.get(page) != way:
            self._ways[page] = way
            if self.user is not None:
                self._io.memory.put(f"login:{page}", way)

    def _asked(
        self, way: Way, page: str, ask: Callable[[str | None], Reply | None]
    ) -> Reply | None:
        if way == "nobody":
            return ask(None)
        if way == "cookie":
            return ask(self._known_cookie())
        if self._session is not None and (reply := ask(self._session)) is not None:
            return reply
        self._session = self._new_session(page)
        return ask(self._session)

    def _headers(self, page: str) -> Mapping[str, str]:
        way = self._ways.get(page, "nobody")
        if way == "nobody":
            return {}
        told = self._known_cookie() if way == "cookie" else self._session
        return {"Cookie": told or ""}

    def _known_cookie(self) -> str:
        if self._cookie is None:
            self._cookie = cookie(self.user or "", self._password())
        return self._cookie

    def _password(self) -> str:
        return self._io.secret(self._secret) if self._secret else ""

    def _new_session(self, page: str) -> str:
        media_type, body = form(self.user or "", self._password())
        reply = self._io.http.post(
            page, body=body, media_type=media_type, allow=_LED_ON
        )
        session = _SESSION.search(reply.headers.get("set-cookie", ""))
        if reply.status not in _LED_ON or session is None:
            raise refusal(page)
        # Alone: the server would compare a password beside it, and refuse both.
        return f"sid={session[1]}"


def is_login(reply: Reply) -> bool:
    """Tell whether the answer is a login form instead of the page asked for."""
    if reply.body.lstrip().startswith(_OURS):
        # A message may show how a login looks.
        return False
    return _PASSWORD_FIELD.search(reply.body[:_LOOKED_AT]) is not None


def refusal(page: str) -> IngestionError:
    """Return that the server asks for another login, and for which logbook."""
    book = unquote(page.rstrip("/").rpartition("/")[2])
    message = (
        f"The ELOG asks for a login for {book}; check `args.user` and `args.password`."
    )
    return IngestionError(message, reason="login_required")


def form(user: str, password: str) -> tuple[str, bytes]:
    """Return media type and body of the form, filled in as a browser does."""
    mark = secrets.token_hex(16)
    lines = []
    for name, value in (("uname", user), ("upassword", password), ("redir", "")):
        head = f'Content-Disposition: form-data; name="{name}"'
        lines += [f"--{mark}", head, "", value]
    body = "\r\n".join([*lines, f"--{mark}--", ""])
    return f"multipart/form-data; boundary={mark}", body.encode()


def cookie(user: str, password: str) -> str:
    """Return the header that logs a user in."""
    return f"unm={user}; upwd={crypted(password.encode(), b'')}"


def crypted(password: bytes, salt: bytes, rounds: int = _ROUNDS) -> str:
    """Return SHA-256 crypt as glibc computes it, without `$5$`, rounds and salt."""
    size = len(password)
    other = sha256(password + salt + password).digest()
    first = sha256(password + salt + _stretched(other, size))
    length = size
    while length:
        first.update(other if length & 1 else password)
        length >>= 1
    digest = first.digest()
    long_password = _stretched(sha256(password * size).digest(), size)
    long_salt = _stretched(sha256(salt * (16 + digest[0])).digest(), len(salt))
    for turn in range(rounds):
        digest = _turned(digest, turn, long_password, long_salt)
    return _encoded(digest)


def _turned(digest: bytes, turn: int, password: bytes, salt: bytes) -> bytes:
    is_odd = turn % 2 == 1
    parts = [password if is_odd else digest]
    if turn % 3:
        parts.append(salt)
    if turn % 7:
        parts.append(password)
    parts.append(digest if is_odd else password)
    return sha256(b"".join(parts)).digest()


def _stretched(digest: bytes, size: int) -> bytes:
    return (digest * (size // len(digest) + 1))[:size]


def _encoded(digest: bytes) -> str:
    groups = [(digest[a], digest[b], digest[c], 4) for a, b, c in _TRIPLES]
    groups.append((0, digest[31], digest[30], 3))
    found = []
    for high, middle, low, count in groups:
        value = high << 16 | middle << 8 | low
        for _ in range(count):
            found.append(_ALPHABET[value & 63])
            value >>= 6
    return "".join(found)
