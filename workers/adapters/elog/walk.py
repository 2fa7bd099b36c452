"""A walk through the logbooks of an ELOG, each back in time, stretch by stretch."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Self

from shared.adapter_contract.contract import Cursor, Window
from shared.times.rfc3339 import read_cursor_time

CURSOR_FORMAT = 1
RECONCILE = timedelta(days=14)
# elogd takes a year below 90 of its century for one of the next, so that what begins
# before 1990 ends before it begins. The last stretch is open: for what is older after
# all, and for what has no readable time.
_OLDEST = datetime(1990, 1, 1, tzinfo=UTC)
_WIDEST_DAYS = 3650
_FEW, _MANY = 100, 2000
_NO_TIME = -1 << 40
_MOST = 1_000_000
# Beyond a day the server's own zone cannot make a difference.
_MARGIN = timedelta(days=1)
_YEARS = range(1900, 2301)


@dataclass(slots=True)
class ElogWalk:
    """How far a walk has come; a stretch is `days` long and ends at `upper`."""

    began: datetime
    overlap: timedelta
    # The window; None is open.
    lower: datetime | None
    top: datetime | None
    days: int
    first_days: int
    # Up to where earlier walks have seen everything.
    done: datetime | None = None
    book: int = 0
    upper: datetime | None = None
    # The last message of the stretch that was handed out.
    after: tuple[int, int] | None = None

    @classmethod
    def begin(
        cls,
        since: Cursor | None,
        window: Window | None,
        *,
        now: datetime,
        overlap: timedelta,
        days: int,
        history_start: datetime | None,
    ) -> Self:
        """Go on with a walk, or begin one where the last has ended."""
        lower, top = history_start, None
        if window is not None:
            lower, top = window.start or history_start, window.end
        walk = cls(now, overlap, lower, top, days, days, upper=top)
        if since is None:
            return walk
        walk.done = read_time(since.get("at")) if _is_ours(since) else None
        kept = since.get("walk") if _is_ours(since) else None
        if isinstance(kept, Mapping) and walk._resume(kept, window):
            return walk
        if window is None:
            # What cannot be read is read again from where reconciling begins.
            walk.lower = walk.done - overlap if walk.done else now - RECONCILE
        return walk

    @property
    def asked_from(self) -> datetime | None:
        """Return the start of the stretch; None: it has none."""
        start = (self.upper or self.began) - timedelta(days=self.days)
        if self.lower is not None:
            return max(start, self.lower)
        return start if start > _OLDEST else None

    @property
    def complete_to(self) -> datetime:
        """Return the time up to which everything was seen."""
        seen = self.began - self.overlap
        return seen if self.top is None else min(self.top, seen)

    def params(self) -> list[tuple[str, str]]:
        """Return the query parameters for the stretch, a day wider at each end."""
        params = [("mode", "Raw"), ("reverse", "0")]
        if self.asked_from is not None and self.asked_from - _MARGIN >= _OLDEST:
            params += _date("a", self.asked_from - _MARGIN)
        if self.upper is not None:
            params += _date("b", max(self.upper, _OLDEST) + _MARGIN)
        return params

    def holds(self, written: datetime | None, key: tuple[int, int]) -> bool:
        """Tell whether the rest of the stretch includes a message."""
        if self.after is not None and key >= self.after:
            return False
        if written is None:
            return True
        start = self.asked_from
        if start is not None and written < start:
            return False
        return self.upper is None or written < self.upper

    def step(self, count: int) -> None:
        """Go to the next stretch, or to the next book."""
        start = self.asked_from
        self.after = None
        is_last = start is None or (self.lower is not None and start <= self.lower)
        if is_last:
            self.pass_over()
            return
        self.upper = start
        if count < _FEW:
            self.days = min(2 * self.days, _WIDEST_DAYS)
        elif count > _MANY:
            self.days = max(1, self.days // 2)

    def pass_over(self) -> None:
        """Leave out the book at hand."""
        self.book, self.upper, self.days = self.book + 1, self.top, self.first_days
        self.after = None

    def shorten(self) -> bool:
        """Ask for less at once; False: it is the least already."""
        is_shorter = self.days > 1
        self.days = max(1, self.days // 4)
        return is_shorter

    def is_over(self, books: int) -> bool:
        """Tell whether every book was walked through."""
        return self.book >= books

    def cursor(self, *, is_over: bool) -> Cursor:
        """Return where to go on; only the end of a walk moves the safe place."""
        if is_over:
            at = self.began - self.overlap
            at = at if self.done is None else max(at, self.done)
            return {"v": CURSOR_FORMAT, "at": at.isoformat()}
        walk: dict[str, Any] = {
            "book": self.book,
            "days": self.days,
            "after": None if self.after is None else list(self.after),
            "began": self.began.isoformat(),
            "lower": format_cursor_time(self.lower),
            "top": format_cursor_time(self.top),
            "upper": format_cursor_time(self.upper),
        }
        return {"v": CURSOR_FORMAT, "at": format_cursor_time(self.done), "walk": walk}

    def _resume(self, kept: Mapping[str, Any], window: Window | None) -> bool:
        """Take over a walk that was broken off, if it is through this window."""
        began, top = read_time(kept.get("began")), read_time(kept.get("top"))
        book, days, after = kept.get("book"), kept.get("days"), kept.get("after")
        if began is None or not _is_count(book) or not _is_count(days):
            return False
        if window is not None and top != self.top:
            return False
        self.began, self.top, self.book = began, top, int(book or 0)
        self.days = min(max(1, int(days or 1)), _WIDEST_DAYS)
        self.lower, self.upper = (
            read_time(kept.get("lower")),
            read_time(kept.get("upper")),
        )
        match after:
            case [int(second), int(mid)]:
                self.after = (second, mid)
        return True


def key(written: datetime | None, mid: int) -> tuple[int, int]:
    """Return the place of a message in the order of time; without one it is oldest."""
    return (_NO_TIME if written is None else int(written.timestamp()), mid)


def _date(which: str, day: datetime) -> list[tuple[str, str]]:
    day = day.astimezone(UTC)
    return [
        (f"y{which}", str(day.year)),
        (f"m{which}", str(day.month)),
        (f"d{which}", str(day.day)),
    ]


def _is_ours(since: Cursor) -> bool:
    return since.get("v") == CURSOR_FORMAT


def _is_count(value: Any) -> bool:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return whole and 0 <= value <= _MOST


def format_cursor_time(time: datetime | None) -> str | None:
    """Return a time as a cursor holds it."""
    return None if time is None else time.isoformat()


def read_time(value: Any) -> datetime | None:
    """Return a time that a cursor holds; None: it holds none."""
    found = read_cursor_time(value)
    return found if found is not None and found.year in _YEARS else None
