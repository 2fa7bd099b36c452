"""Documents of a batch of entries: made one portion after another, written beside."""

from __future__ import annotations

import functools
import time
from collections.abc import Sequence
from concurrent.futures import Future
from uuid import UUID

from shared.due import rows
from shared.due.rows import Claim
from shared.errors import LogchordError, OpenSearchError
from shared.opensearch import filling
from shared.opensearch.filling import Portion
from shared.opensearch.portions import Beside
from shared.postgres import connection
from workers.context import Context
from workers.task import BATCH_SECONDS, attempt, each_in_time, is_everybodys, settle

# Errors by entry; None of a portion that was not even tried.
Answer = dict[UUID, OpenSearchError] | None


def send(
    ctx: Context,
    claims: Sequence[Claim],
    beside: Beside[Answer],
    *,
    may_be_left: bool,
) -> None:
    """Have the documents of a batch written, and its work ended one way or another.

    What is on its way at last may be left so, and is seen to with the batch after it.
    """
    batch = _Batch(ctx, claims)
    batch.send(beside)
    if batch.error is not None or not may_be_left:
        beside.wait()


class _Batch:
    """Entries that were claimed together, until nothing of them is on its way."""

    def __init__(self, ctx: Context, claims: Sequence[Claim]) -> None:
        self.error: LogchordError | None = None
        self._ctx = ctx
        self._claimed = len(claims)
        self._left = {claim.entry_id: claim for claim in claims}
        self._refused: dict[UUID, OpenSearchError] = {}
        # Portions on their way, and one for as long as there may be another.
        self._open = 1
        self._is_broken = False

    def send(self, beside: Beside[Answer]) -> None:
        """Have the documents written as they are now, the last of them beside."""
        self._note(attempt(self._read, beside))
        self._close_one()

    def _read(self, beside: Beside[Answer]) -> None:
        ctx, claims = self._ctx, list(self._left.values())
        client, base = ctx.opensearch, ctx.settings.opensearch_index
        if client is None:
            self._end([claim.entry_id for claim in claims])
            return
        ends = time.monotonic() + BATCH_SECONDS
        for portion in filling.read(client, base, ctx.pool, claims, until=ends):
            if self.error is not None:
                return
            beside.use(
                functools.partial(self._write, portion),
                functools.partial(self._see_to, portion.ids),
            )
            # Only what is surely on its way is waited for.
            self._open += 1

    def _write(self, portion: Portion) -> Answer:
        """Write a portion, in the thread; behind one that failed none is."""
        client = self._ctx.opensearch
        if client is None or self._is_broken:
            return None
        self._is_broken = True
        errors = filling.write(client, portion)
        self._is_broken = False
        return errors

    def _see_to(self, ids: Sequence[UUID], written: Future[Answer]) -> None:
        self._note(attempt(self._end_written, ids, written))
        self._close_one()

    def _end_written(self, ids: Sequence[UUID], written: Future[Answer]) -> None:
        errors = written.result()
        if errors is not None:
            self._end([one for one in ids if one in self._left and one not in errors])
            self._refused |= errors

    def _end(self, written: Sequence[UUID]) -> None:
        _end(self._ctx, [self._left[one] for one in written])
        for one in written:
            del self._left[one]

    def _note(self, error: LogchordError | None) -> None:
        # What failed first says why the rest did.
        self.error = self.error or error

    def _close_one(self) -> None:
        self._open -= 1
        if self._open == 0:
            self._settle()

    def _settle(self) -> None:
        """Say what becomes of those whose work has not ended."""
        left, self._left = self._left, {}
        if self.error is not None:
            _settle_all(self._ctx, list(left.values()), self.error, self._claimed)
            return
        # What refuses every one of them is away, or full.
        is_away = len(left) == self._claimed
        for one, error in self._refused.items():
            settle(self._ctx, left.pop(one), error, pause=is_away)
        if left:
            # For whom there was no time.
            with connection(self._ctx.pool) as conn:
                rows.release(conn, next(iter(left.values())).claim)


def _settle_all(
    ctx: Context, left: Sequence[Claim], error: LogchordError, claimed: int
) -> None:
    if claimed > 1 and not error.retriable and not is_everybodys(error):
        # It is one entry's: alone, that one costs only itself.
        each_in_time(ctx, left, functools.partial(_index_alone, ctx))
        return
    for claim in left:
        settle(ctx, claim, error)


def _index_alone(ctx: Context, claim: Claim) -> None:
    client, base = ctx.opensearch, ctx.settings.opensearch_index
    if client is not None:
        for portion in filling.read(client, base, ctx.pool, [claim]):
            for error in filling.write(client, portion).values():
                raise error
    _end(ctx, [claim])


def _end(ctx: Context, claims: Sequence[Claim]) -> None:
    """End the work of what is written."""
    ids = [claim.entry_id for claim in claims]
    ctx.checkpoint("after_index", *ids)
    with connection(ctx.pool) as conn:
        ctx.checkpoint("before_finish", *ids)
        rows.finish(conn, *claims)
        if ctx.opensearch is None:
            filling.note_missed(conn)
        ctx.checkpoint("before_commit", *ids)
    ctx.checkpoint("after_commit", *ids)
