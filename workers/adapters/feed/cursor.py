"""How far a walk through a feed has come, and what the last one has seen."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Self

from shared.adapter_contract.conditional_fetch import Answered
from shared.adapter_contract.contract import Cursor
from shared.times.rfc3339 import read_cursor_time

VERSION = 1

_KEPT = ("seen", "newest", "answered")
_MAX_URL_CHARS = 2_000


@dataclass(frozen=True, slots=True)
class FeedWalk:
    """How far a walk from the newest part of a feed to the oldest has come."""

    # The newest part, remembered once the walk has ended.
    head: tuple[str, ...] = ()
    newest: str | None = None
    next: str | None = None
    oldest: datetime | None = None
    # By what its server knows the newest part again.
    answered: Answered | None = None


@dataclass(frozen=True, slots=True)
class FeedCursor:
    """A stored cursor as read; its default values if it cannot be read."""

    seen: frozenset[str] = frozenset()
    newest: datetime | None = None
    walk: FeedWalk | None = None
    # The newest part; none while only some of it is stored.
    answered: Answered | None = None
    cursor: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, cursor: Cursor | None) -> Self:
        """Read a cursor; an unknown one is as good as none."""
        if cursor is None or cursor.get("v") != VERSION:
            return cls()
        walk = cursor.get("walk")
        is_open = "walk" in cursor
        return cls(
            seen=frozenset(_texts(cursor.get("seen"))),
            newest=read_cursor_time(cursor.get("newest")),
            walk=_walk(walk) if isinstance(walk, dict) and walk.get("next") else None,
            answered=None if is_open else Answered.read(cursor.get("answered")),
            cursor={key: cursor[key] for key in _KEPT if key in cursor},
        )

    def during(self, walk: FeedWalk) -> dict[str, Any]:
        """Return the cursor of a walk that has not ended."""
        said = {
            "head": list(walk.head),
            "newest": walk.newest,
            "next": walk.next,
            "answered": walk.answered.kept() if walk.answered else None,
        }
        if walk.next and len(walk.next) > _MAX_URL_CHARS:
            # Not to be remembered: a walk that is interrupted begins again.
            said.pop("next")
        return {"v": VERSION, **self.cursor, "walk": said}


def _texts(value: object) -> list[str]:
    found = value if isinstance(value, list) else []
    return [one for one in found if isinstance(one, str)]


def _walk(said: dict[str, Any]) -> FeedWalk:
    return FeedWalk(
        tuple(_texts(said.get("head"))) or ("",),
        _text(said.get("newest")),
        _text(said.get("next")),
        answered=Answered.read(said.get("answered")),
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
