"""What the answers and silences of a source mean: gone, later, never, or a login."""

import re
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpcore2
import httpx2

from shared.errors import IngestionError, SourceUnreachableError

OK = 200
REDIRECTS = frozenset({301, 302, 303, 307, 308})
LATER = frozenset({408, 425, 429})
_FORBIDDEN = 403
_NOT_AUTHORISED = frozenset({401, _FORBIDDEN})
_NOT_THERE = frozenset({404, 410})
_SERVER_ERROR = 500
_MOST_RETRY_AFTER_SECONDS = 3600
# As OpenSSL counts what is wrong with a certificate; Python has no names for it.
_EXPIRED = 10
_OF_ANOTHER_NAME = frozenset({62, 64})
_LOGIN = re.compile(
    r"(?i)log[-_]?in(?![a-z])|sign[-_]?in(?![a-z])|fail=1\b|authori[sz]e|openid"
    r"|(?<![a-z])(?:sso|saml2?|oauth2?|cas|adfs|shibboleth|keycloak)(?![a-z])"
)
# As httpcore2 words it, which knows the difference and has no class for it.
_SAID_NOTHING = "Server disconnected without sending a response"
EMPTY_REPLY = "empty_reply"
_TELLS_NOTHING = re.compile(r"[\w.:+ -]{0,24}")
_SECRET_NAME = re.compile(r"(?i)token|key|pass|pwd|secret|sig|auth|session|sid|code")


def mask_url(url: httpx2.URL) -> str:
    """Return an address for people, without values that may be secret."""
    named = [
        f"{name}={value if _is_harmless(name, value) else '***'}"
        for name, value in url.params.multi_items()
    ]
    plain = str(url.copy_with(query=None, fragment=None))
    return f"{plain}?{'&'.join(named)}"[:300] if named else plain[:300]


def _is_harmless(name: str, value: str) -> bool:
    return not _SECRET_NAME.search(name) and bool(_TELLS_NOTHING.fullmatch(value))


def looks_like_login(url: httpx2.URL) -> bool:
    """Tell whether an address seems to belong to a login page."""
    return bool(_LOGIN.search(f"{url.host}{url.raw_path.decode('ascii', 'replace')}"))


def of_status(
    status: int,
    headers: Mapping[str, str],
    url: httpx2.URL,
    now: datetime,
    *,
    has_login: bool = False,
) -> IngestionError:
    """Return the error for a status that is not an answer."""
    where = mask_url(url)
    if status in _NOT_AUTHORISED:
        what = _refused(status, has_login=has_login)
        return IngestionError(
            what.format(f"({status} at {where})"), reason="not_authorised"
        )
    if status in LATER or status >= _SERVER_ERROR:
        return SourceUnreachableError(
            f"The source cannot answer just now ({status} at {where}).",
            reason=f"http_{status}",
            retry_after_seconds=retry_after(headers.get("retry-after"), now),
        )
    if status in _NOT_THERE:
        message = f"The source has nothing at {where} ({status}); check `base_url`."
    else:
        message = f"The source answers {status} at {where}; check its settings."
    return IngestionError(message, reason="refused")


def _refused(status: int, *, has_login: bool) -> str:
    if status == _FORBIDDEN:
        return (
            "The source does not let us read {}; ask there for the right to read, or"
            " check `auth`."
        )
    if has_login:
        return "The source refuses our login {}; check user and password in `auth`."
    return "The source wants a login {}; give it in `auth`."


def of_redirect(url: httpx2.URL, target: httpx2.URL | None) -> IngestionError:
    """Return why a redirect is not followed: it is a login, or the source has moved."""
    where = mask_url(url)
    to = str(target.copy_with(query=None, fragment=None))[:200] if target else "nowhere"
    if target and target.host == url.host and not looks_like_login(target):
        return IngestionError(
            f"The source has moved from {where} to {to}; if that is right, change"
            " `base_url`.",
            reason="moved",
        )
    return IngestionError(
        f"The source sends us from {where} to {to}, as to a login; check `auth`.",
        reason="login_required",
    )


def of_encryption(host: str | None, cause: ssl.SSLError) -> IngestionError:
    """Return the error of a failed TLS handshake, with what would help."""
    if not isinstance(cause, ssl.SSLCertVerificationError):
        message = (
            f"{host} and we agree on no encryption; check whether `base_url` begins"
            " with http:// or https://, and its port."
        )
    elif cause.verify_code == _EXPIRED:
        message = f"The certificate of {host} has expired; whoever runs it renews it."
    elif cause.verify_code in _OF_ANOTHER_NAME:
        message = (
            f"The certificate of {host} is for another name; use in `base_url` a name"
            " that it is for."
        )
    else:
        message = (
            f"Nobody who is trusted here has signed the certificate of {host}; name"
            " the file of its authority, or its own if it is self-signed, in `ca_file`."
        )
    return IngestionError(message, reason="tls", technical=str(cause))


def retry_after(text: str | None, now: datetime) -> int | None:
    """Return the seconds that a source asks us to wait, an hour at most."""
    if not text:
        return None
    text = text.strip()
    if text.isascii() and text.isdigit():
        seconds = float(text[:12])
    else:
        try:
            at = parsedate_to_datetime(text[:64])
        except ValueError:
            return None
        aware = at if at.tzinfo else at.replace(tzinfo=UTC)
        seconds = (aware - now).total_seconds()
    return round(min(max(seconds, 0), _MOST_RETRY_AFTER_SECONDS))


@contextmanager
def translate_network_errors(url: httpx2.URL) -> Iterator[None]:
    """Turn what goes wrong on the way into our own errors."""
    try:
        yield
    except httpcore2.LocalProtocolError as exc:
        # Its text may hold the header that it refuses.
        raise IngestionError(
            f"A request to {mask_url(url)} cannot be sent as the settings have it.",
            reason="unusable_request",
        ) from exc
    except (
        httpcore2.TimeoutException,
        httpcore2.NetworkError,
        httpcore2.ProtocolError,
        httpcore2.ProxyError,
        httpcore2.UnsupportedProtocol,
    ) as exc:
        reason, what = _told(exc)
        raise SourceUnreachableError(
            f"{what} ({mask_url(url)}).",
            reason=reason,
            technical=f"{type(exc).__name__}: {exc}",
        ) from exc


def _told(exc: Exception) -> tuple[str, str]:
    match exc:
        case httpcore2.ConnectTimeout() | httpcore2.ConnectError():
            return "no_connection", "Nobody answers at the address of the source"
        case httpcore2.TimeoutException():
            return "timeout", "The source does not answer in time"
        case httpcore2.RemoteProtocolError() if str(exc).startswith(_SAID_NOTHING):
            return EMPTY_REPLY, "The source hung up without an answer"
        case httpcore2.RemoteProtocolError() | httpcore2.ReadError():
            return "half_body", "The source broke off its answer, or sent nonsense"
        case httpcore2.ProxyError():
            return "proxy", "The source cannot be reached through the proxy"
        case _:
            return "no_connection", "The source hung up"
