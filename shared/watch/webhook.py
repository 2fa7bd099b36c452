"""What is told to a webhook: signed, to named hosts, no redirects, within 10 s."""

import hashlib
import hmac
import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from shared.errors import InvalidRequestError, LogchordError
from shared.http import addresses
from shared.http.addresses import AllowList, Origin
from shared.http.connections import Patience
from shared.http.request import Asker, HTTPRequest
from shared.http.secrets import Secrets
from shared.settings.source_sections import SourceSettings

SECONDS = 10.0
SIGNATURE = "Logchord-Signature"
_NAME = "webhook"
# Redirects, too, are answers: none is followed.
_ANSWERS = frozenset(range(200, 600))
_GOOD = range(200, 300)


def check_address(url: str, hosts: Sequence[str]) -> None:
    """Refuse an address that cannot be read, or whose host the admin has not named."""
    try:
        origin = addresses.origin_of(addresses.parse(url))
    except ValueError as exc:
        message = f"This address cannot be used: {exc}."
        raise InvalidRequestError.field("alert.webhook_url", "value", message) from exc
    if not _is_named(origin, hosts):
        raise refuse_host(_write_hosts(origin)[-1])


def refuse_host(name: str) -> InvalidRequestError:
    """Return the refusal of a host that the admin has not named."""
    message = (
        f"{name} is not among `webhook_allowed_hosts`; an"
        " admin names the hosts that alerts may go to."
    )
    return InvalidRequestError.field("alert.webhook_url", "not_allowed", message)


def make_signing_secret(installation_secret: bytes, saved_id: UUID) -> str:
    """Return the secret of one saved search: its owner is shown it, nobody keeps it."""
    said = f"saved search {saved_id}".encode()
    return hmac.new(installation_secret, said, hashlib.sha256).hexdigest()


def sign(secret: str, body: bytes, now: int) -> str:
    """Return the signature of a body: of the time, a dot and the body."""
    told = b"%d." % now + body
    return f"t={now},v1={hmac.new(secret.encode(), told, hashlib.sha256).hexdigest()}"


def send(
    url: str,
    told: Mapping[str, Any],
    secret: str | None,
    hosts: Sequence[str],
    is_cancelled: Callable[[], bool],
) -> str | None:
    """Post what is told; return why it did not arrive, or None if it did."""
    body = json.dumps(told, separators=(",", ":")).encode()
    headers = {"Content-Type": "application/json"}
    if secret is not None:
        headers[SIGNATURE] = sign(secret, body, int(time.time()))
    patience = Patience(SECONDS, time.monotonic() + SECONDS, is_cancelled)
    try:
        # Asked anew: the setting may name fewer by now.
        check_address(url, hosts)
        asker = Asker(
            _NAME,
            SourceSettings(base_url=url),
            allowed=AllowList(_NAME, url),
            secrets=Secrets(_NAME),
            clock=lambda: datetime.now(UTC),
        )
        with closing(asker):
            question = HTTPRequest("POST", asker.admit(url), headers, body, _ANSWERS)
            answer = asker.ask(question, patience).response
            answer.close()
    except LogchordError as exc:
        message = exc.message.replace("`base_url`", "the address")
        return re.sub(r"\b([Tt]he) source\b", r"\1 receiver", message)
    return None if answer.status in _GOOD else f"It was answered {answer.status}."


def _is_named(origin: Origin, hosts: Sequence[str]) -> bool:
    """Tell whether a host is named: alone for the usual ports, or with its port."""
    return not {one.lower() for one in hosts}.isdisjoint(_write_hosts(origin))


def _write_hosts(origin: Origin) -> list[str]:
    """Return how an admin may write a host, the shortest last."""
    host = f"[{origin.host}]" if ":" in origin.host else origin.host
    is_usual = origin.port == {"http": 80, "https": 443}[origin.scheme]
    return [f"{host}:{origin.port}", *([host] if is_usual else [])]
