"""What is left of the time for an answer, given to each statement anew."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from psycopg import Connection

from shared.errors import DatabaseQueryError
from shared.search.retrieval.engines import candidate_rows


@dataclass(frozen=True, slots=True)
class Remaining:
    """One end for several statements, by the monotonic clock."""

    ends_at: float

    @classmethod
    def lasting(cls, milliseconds: int) -> Remaining:
        """Return an end so long from now."""
        return cls(time.monotonic() + milliseconds / 1000)

    @property
    def ms(self) -> int:
        """Return what is left, 0 at the least."""
        return max(0, int((self.ends_at - time.monotonic()) * 1000))

    def bound(self, conn: Connection[Any], most_ms: int | None = None) -> None:
        """End what is sent next in time; where nothing is left, raise and send none."""
        left = self.ms if most_ms is None else min(self.ms, most_ms)
        if left <= 0:
            raise DatabaseQueryError(technical="no time is left for it")
        # To the end of the transaction: a savepoint that is released keeps it.
        candidate_rows.limit_time(conn, left)
