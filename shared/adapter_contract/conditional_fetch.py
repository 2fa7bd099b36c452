"""An answer that was read before: its source is asked only for what differs from it."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any, Self

from shared.adapter_contract.contract import Reply, SourceHTTP

NOT_MODIFIED = 304
# In a cursor is room for little; a server with longer ones is asked in full.
_MOST_CHARS = 200
# It counts whole seconds: what is added in the same one would never be sent.
_SETTLED = timedelta(seconds=2)
_CONDITIONS = {"etag": "If-None-Match", "last-modified": "If-Modified-Since"}


@dataclass(frozen=True, slots=True)
class Answered:
    """A stored answer: the question, and the server's marks of the answer.

    It is kept where the last part of the answer is: what it vouches for is stored.
    """

    asked: str
    validators: Mapping[str, str]

    @classmethod
    def of(cls, reply: Reply, question: Any, read_by: str | None) -> Self | None:
        """Return the marks of an answer to store; None if the server gave none."""
        found = {name: reply.headers.get(name, "") for name in _CONDITIONS}
        if not _is_settled(reply):
            del found["last-modified"]
        given = {name: value for name, value in found.items() if value}
        is_short = all(len(value) <= _MOST_CHARS for value in given.values())
        if read_by is None or not given or not is_short:
            return None
        return cls(_key(question, read_by), given)

    @classmethod
    def read(cls, kept: Any) -> Self | None:
        """Read a stored answer; None if it is not one."""
        if not isinstance(kept, Mapping) or not isinstance(kept.get("asked"), str):
            return None
        given = {
            name: value
            for name, value in kept.items()
            if name in _CONDITIONS and isinstance(value, str)
        }
        return cls(kept["asked"], given) if given else None

    def kept(self) -> dict[str, str]:
        """Return the stored answer as JSON."""
        return {"asked": self.asked, **self.validators}

    def conditions(self, question: Any, read_by: str | None) -> dict[str, str]:
        """Return the headers by which the same question is asked again.

        None, where the answer would be read in another way by now.
        """
        if read_by is None or self.asked != _key(question, read_by):
            return {}
        return {_CONDITIONS[name]: value for name, value in self.validators.items()}


def if_changed(
    http: SourceHTTP,
    url: str,
    known: Answered | None,
    read_by: str | None,
    *,
    headers: Mapping[str, str] | None = None,
) -> Reply | None:
    """Get an address; None if its server says that the known answer still holds."""
    conditions = known.conditions(url, read_by) if known else {}
    allow = (NOT_MODIFIED,) if conditions else ()
    reply = http.get(url, headers={**(headers or {}), **conditions}, allow=allow)
    return None if reply.status == NOT_MODIFIED else reply


def _is_settled(reply: Reply) -> bool:
    """Tell whether the answer was long unchanged when it was given, by one clock."""
    sent, changed = (_moment(reply, name) for name in ("date", "last-modified"))
    return bool(sent and changed and sent - changed >= _SETTLED)


def _moment(reply: Reply, name: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(reply.headers.get(name, ""))
    except (ValueError, OverflowError):
        return None
    return moment if moment.tzinfo else None


def _key(question: Any, read_by: str) -> str:
    # Another parser, or another setting, may make other entries of one answer.
    return hashlib.sha256(json.dumps([question, read_by]).encode()).hexdigest()[:32]
