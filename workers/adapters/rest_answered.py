"""The answer of a list that one request brought whole: asked only for what differs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from shared.entries.adapter import Reply
from workers.adapters.rest_paging import Ask

NOT_MODIFIED = 304
# In a cursor is room for little; a server with longer ones is asked in full.
_MOST_CHARS = 200
_CONDITIONS = {"etag": "If-None-Match", "last-modified": "If-Modified-Since"}


@dataclass(frozen=True, slots=True)
class Answered:
    """What was asked, and by what its server knows the answer again.

    It stands in the cursor of the answer's last part: what it vouches for is stored.
    """

    asked: str
    validators: Mapping[str, str]

    @classmethod
    def of(cls, ask: Ask, reply: Reply) -> Self | None:
        """Return it; None where the server gives nothing to ask by."""
        found = {name: reply.headers.get(name, "") for name in _CONDITIONS}
        given = {name: value for name, value in found.items() if value}
        is_short = all(len(value) <= _MOST_CHARS for value in given.values())
        return cls(_key(ask), given) if given and is_short else None

    @classmethod
    def read(cls, kept: Any) -> Self | None:
        """Read it from a cursor; whatever is not one is none."""
        if not isinstance(kept, dict) or not isinstance(kept.get("asked"), str):
            return None
        given = {
            name: value
            for name, value in kept.items()
            if name in _CONDITIONS and isinstance(value, str)
        }
        return cls(kept["asked"], given) if given else None

    def kept(self) -> dict[str, str]:
        """Return it as JSON."""
        return {"asked": self.asked, **self.validators}

    def conditions(self, ask: Ask) -> dict[str, str]:
        """Return the headers by which the same question is asked again."""
        if self.asked != _key(ask):
            return {}
        return {_CONDITIONS[name]: value for name, value in self.validators.items()}


def _key(ask: Ask) -> str:
    whole = json.dumps([ask.url, sorted(ask.params.items())])
    return hashlib.sha256(whole.encode()).hexdigest()[:32]
