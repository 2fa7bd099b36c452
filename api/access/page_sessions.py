"""The session of a page: a key traded for a cookie that holds no secret of it."""

import hashlib
import hmac
import re
import secrets
import time
from datetime import UTC, datetime

from starlette.requests import Request

from shared.errors import AccessError

COOKIE = "logchord_session"
SECONDS = 12 * 3600
# Each login has a number of its own: those of one second are ended one by one, too.
_VALUE = re.compile(r"([a-z0-9]{12})\.(\d{10})\.([0-9a-f]{16})\.([0-9a-f]{64})")


def make_session(secret: bytes, key_id: str) -> str:
    """Return the value of a cookie that stands for a key for twelve hours."""
    value = f"{key_id}.{int(time.time()) + SECONDS}.{secrets.token_hex(8)}"
    return f"{value}.{_sign(secret, f'session {value}')}"


def session_of(request: Request) -> str | None:
    """Return the session that a request brings along, if it looks like one of ours."""
    value = request.cookies.get(COOKIE, "")
    return value if _VALUE.fullmatch(value) else None


def read_session(secret: bytes, value: str) -> str:
    """Return whose key a cookie stands for; one that is over or forged is refused."""
    found = _VALUE.fullmatch(value)
    if found is None:
        raise is_over()
    key_id, until, _, signature = found.groups()
    wanted = _sign(secret, f"session {value.rpartition('.')[0]}")
    if not hmac.compare_digest(signature, wanted) or int(until) < time.time():
        raise is_over()
    return key_id


def end_of(value: str) -> datetime:
    """Return until when a session would last."""
    return datetime.fromtimestamp(int(value.split(".")[1]), UTC)


def csrf_token(secret: bytes, request: Request) -> str:
    """Return the token that forms of this session send; no other page can know it."""
    header = request.app.state.settings.people.header
    # Believed or not: a form is sent by whom it was shown to.
    person = request.headers.get(header, "") if header else ""
    return _sign(secret, f"form {session_of(request) or ''}{person}")


def _sign(secret: bytes, text: str) -> str:
    return hmac.new(secret, text.encode(), hashlib.sha256).hexdigest()


def is_over() -> AccessError:
    """Return the refusal of a session that has ended, or never was."""
    return AccessError("This session is over; log in again.", code="auth_invalid")
