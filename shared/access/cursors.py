"""Cursors: where a page ended, signed, and of no use to anybody else."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import time
from dataclasses import dataclass
from typing import Any

from shared.errors import InvalidRequestError

MAX_CURSOR_BYTES = 512
_SIGNATURE_BYTES = 32


@dataclass(frozen=True, slots=True)
class Binding:
    """The request that a cursor is bound to: another route, query or caller fails."""

    route: str
    query: str
    caller: str
    limit: int

    def digest(self) -> str:
        """Return a short hash of the request."""
        whole = "\0".join((self.route, self.query, self.caller, str(self.limit)))
        return hashlib.sha256(whole.encode()).hexdigest()[:32]


class Signer:
    """Makes and opens cursors with this installation's secret."""

    def __init__(self, secret: bytes, ttl_seconds: float) -> None:
        self._secret = secret
        self._ttl = ttl_seconds

    def make(self, place: list[Any], binding: Binding) -> str:
        """Return the cursor of a place."""
        expires = int(time.time() + self._ttl)
        payload = json.dumps([place, binding.digest(), expires], separators=(",", ":"))
        raw = payload.encode()
        return base64.urlsafe_b64encode(raw + self._sign(raw)).decode().rstrip("=")

    def open(self, cursor: str, binding: Binding) -> list[Any]:
        """Return the place, or raise `bad_cursor` whatever is wrong with it."""
        if len(cursor) > MAX_CURSOR_BYTES or not cursor.isascii():
            raise refuse()
        try:
            padded = cursor + "=" * (-len(cursor) % 4)
            whole = base64.b64decode(padded, altchars=b"-_", validate=True)
        except (binascii.Error, ValueError) as exc:
            raise refuse() from exc
        # A second spelling of the same bytes is a changed cursor, too.
        if base64.urlsafe_b64encode(whole).decode().rstrip("=") != cursor:
            raise refuse()
        raw, signature = whole[:-_SIGNATURE_BYTES], whole[-_SIGNATURE_BYTES:]
        if not hmac.compare_digest(self._sign(raw), signature):
            raise refuse()
        place, digest, expires = json.loads(raw)
        if digest != binding.digest() or expires < time.time():
            raise refuse()
        return list(place)

    def _sign(self, raw: bytes) -> bytes:
        return hmac.new(self._secret, raw, hashlib.sha256).digest()


def refuse() -> InvalidRequestError:
    """Return the error for a cursor that opens nothing here."""
    message = "This cursor is not valid here any more; begin the list again."
    return InvalidRequestError(message, code="bad_cursor")
