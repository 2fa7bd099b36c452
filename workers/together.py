"""A batch of entries: worked on one by one, and kept together in few commits."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Protocol, TypeVar

from psycopg import Connection
from psycopg.rows import TupleRow

from shared.due import rows
from shared.due.rows import Claim
from shared.entries.reading import Content
from shared.postgres import connection
from workers.contents import Contents
from workers.context import Context
from workers.task import BATCH_SECONDS, attempt, each

# How long what is made waits to be kept with others.
KEEP_SECONDS = 0.5
# A longer text may take many seconds, or the process with it: what is made is kept
# before, so that a death costs short entries at most.
SHORT_CHARACTERS = 4000


class Done(Protocol):
    """What was made of one entry, and is to be kept."""

    @property
    def claim(self) -> Claim:
        """The work that it ends."""

    @property
    def weight(self) -> int:
        """How much there is to store."""


One = TypeVar("One", bound=Done)


def work(
    ctx: Context,
    claims: Sequence[Claim],
    make: Callable[[Claim, Content | None], One],
    keep: Callable[[Sequence[One]], None],
    *,
    most: int,
) -> None:
    """Do what there is time for; the others of the batch go back untouched.

    `most` is how much one commit keeps, which holds the entries' rows for as long; what
    it keeps is of one facility and one class, in order of the key.
    """
    contents = Contents(ctx, claims)
    ends = time.monotonic() + BATCH_SECONDS
    keep_at = time.monotonic() + KEEP_SECONDS
    waiting: list[One] = []

    def keep_waiting() -> None:
        _keep_all(ctx, waiting, keep)
        waiting.clear()

    def step(claim: Claim) -> None:
        content = contents.of(claim)
        if content is not None and _is_long(content):
            keep_waiting()
        waiting.append(make(claim, content))

    left = list(reversed(claims))
    while left and time.monotonic() < ends:
        each(ctx, [left.pop()], step)
        is_enough = sum(one.weight for one in waiting) >= most
        if is_enough or time.monotonic() >= keep_at:
            keep_waiting()
            keep_at = time.monotonic() + KEEP_SECONDS
    keep_waiting()
    if left:
        with connection(ctx.pool) as conn:
            rows.release(conn, claims[0].claim)


def end(ctx: Context, conn: Connection[TupleRow], claims: Sequence[Claim]) -> None:
    """End work in the commit of its effect; a lost claim finishes nothing."""
    ids = [claim.entry_id for claim in claims]
    ctx.checkpoint("before_finish", *ids)
    rows.finish(conn, *claims)
    ctx.checkpoint("before_commit", *ids)


def _is_long(content: Content) -> bool:
    return len(content.title) + len(content.text) > SHORT_CHARACTERS


def _keep_all(
    ctx: Context, made: Sequence[One], keep: Callable[[Sequence[One]], None]
) -> None:
    # Locks are taken facility by facility, and within one by id, as a page's are.
    in_order = sorted(made, key=lambda one: (*_whose(one), one.claim.entry_id))
    for _, group in groupby(in_order, key=_whose):
        _keep_some(ctx, list(group), keep)


def _keep_some(
    ctx: Context, made: Sequence[One], keep: Callable[[Sequence[One]], None]
) -> None:
    if attempt(keep, made) is not None:
        # What harms one of many is found when each is kept by itself.
        by_entry = {one.claim.entry_id: one for one in made}
        each(
            ctx,
            [one.claim for one in made],
            lambda claim: keep([by_entry[claim.entry_id]]),
        )


def _whose(one: Done) -> tuple[str, int]:
    return one.claim.tenant, one.claim.work_class
