"""How far a walk along a REST list has come, as it is kept between runs."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Self

from shared.adapter_contract.conditional_fetch import Answered
from shared.adapter_contract.contract import Cursor
from shared.times.rfc3339 import read_cursor_time
from workers.adapters.rest import paging
from workers.adapters.rest.paging import Position

VERSION = 1


@dataclass(frozen=True, slots=True)
class RestCursor:
    """The time up to which everything is stored, and how far a walk is."""

    since: datetime | None = None
    position: Position = None
    # Newest first, the walk goes down from `upper`; `lowest` is how far it has come.
    upper: datetime | None = None
    lowest: datetime | None = None
    newest: datetime | None = None
    # The last answer, where it was the whole of a walk.
    answered: Answered | None = None

    @classmethod
    def of(cls, cursor: Cursor | None) -> Self:
        """Read a cursor; an unknown one is as good as none."""
        if cursor is None or cursor.get("v") != VERSION:
            return cls()
        walk = cursor.get("walk")
        walk = walk if isinstance(walk, dict) else {}
        position = walk.get("at")
        is_place = isinstance(position, int | str) and not isinstance(position, bool)
        return cls(
            read_cursor_time(cursor.get("since")),
            position if is_place else None,
            read_cursor_time(walk.get("upper")),
            read_cursor_time(walk.get("lowest")),
            read_cursor_time(walk.get("newest")),
            Answered.read(cursor.get("answered")),
        )

    def cursor(self) -> dict[str, Any]:
        """Return the cursor as JSON."""
        walk = {
            "at": paging.kept(self.position),
            "upper": _text(self.upper),
            "lowest": _text(self.lowest),
            "newest": _text(self.newest),
        }
        walk = {name: value for name, value in walk.items() if value is not None}
        kept = {
            "v": VERSION,
            "since": _text(self.since),
            "walk": walk or None,
            "answered": self.answered.kept() if self.answered else None,
        }
        return {name: value for name, value in kept.items() if value is not None}


def _text(moment: datetime | None) -> str | None:
    return moment.astimezone(UTC).isoformat() if moment else None
