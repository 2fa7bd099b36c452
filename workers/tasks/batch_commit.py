"""A batch of entries: worked on one by one, and kept together in few commits."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Generic, TypeVar
from uuid import UUID

from psycopg import Connection

from shared.entries.reading import read_entries
from shared.entries.reading.read_entries import Content
from shared.log import get_logger
from shared.postgres.pool import connection
from shared.work import due_work
from shared.work.backlog import ids_by_tenant
from shared.work.due_work import Claim
from workers.runtime.context import Context
from workers.runtime.task import BATCH_SECONDS, attempt, each, retry_or_quarantine

log = get_logger()

# How long what is made waits to be kept with others.
KEEP_SECONDS = 0.5
# How long a batch may go on keeping where much of it fails: a database that stalls must
# not hold it past its lease's limit, which ends the process and all that is in hand.
FAILING_SECONDS = 5.0
# A longer text, or one with longer files, may take many seconds, or the process with
# it: what is made is kept before, so that a death costs short entries at most.
SHORT_CHARACTERS = 4000


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class EntryResult(Generic[T]):
    """The result of one entry that is to be stored; without content it is deleted."""

    claim: Claim
    content: Content | None = None
    found: T | None = None
    # How much there is to store.
    weight: int = 1


def there(made: Sequence[EntryResult[T]]) -> list[tuple[Content, T]]:
    """Return contents and results to be stored, without those of deleted entries."""
    return [
        (one.content, one.found)
        for one in made
        if one.content is not None and one.found is not None
    ]


def work(
    ctx: Context,
    claims: Sequence[Claim],
    make: Callable[[Claim, Content | None], EntryResult[T]],
    keep: Callable[[Sequence[EntryResult[T]]], None],
    *,
    most: int,
    apart: Callable[[EntryResult[T]], bool] = lambda _: False,
) -> None:
    """Work on the entries that there is time for; the others go back untouched.

    `most` is how much one commit keeps, which holds the entries' rows for as long; what
    it keeps is of one facility and one class, in order of the key. Those that are
    `apart` have a commit without the others.
    """
    contents = Contents(ctx, claims)
    ends = time.monotonic() + BATCH_SECONDS
    keep_at = time.monotonic() + KEEP_SECONDS
    waiting: list[EntryResult[T]] = []

    is_stalled = False

    def whose(one: EntryResult[T]) -> tuple[str, int, bool]:
        return one.claim.tenant, one.claim.work_class, apart(one)

    def keep_waiting() -> None:
        nonlocal is_stalled
        # Locks are taken facility by facility, and within one by id, as a page's are.
        in_order = sorted(waiting, key=lambda one: (*whose(one), one.claim.entry_id))
        waiting.clear()
        groups = [list(group) for _, group in groupby(in_order, key=whose)]
        is_stalled = is_stalled or not _keep_all(ctx, groups, keep)

    def step(claim: Claim) -> None:
        content = contents.of(claim)
        if content is not None and _is_long(content):
            keep_waiting()
        if not is_stalled:
            waiting.append(make(claim, content))

    left = list(reversed(claims))
    while left and not is_stalled and time.monotonic() < ends:
        each(ctx, [left.pop()], step)
        is_enough = sum(one.weight for one in waiting) >= most
        if is_enough or time.monotonic() >= keep_at:
            keep_waiting()
            keep_at = time.monotonic() + KEEP_SECONDS
    keep_waiting()
    if left or is_stalled:
        with connection(ctx.pool) as conn:
            due_work.release(conn, claims[0].claim)


def end(ctx: Context, conn: Connection, claims: Sequence[Claim]) -> None:
    """End work in the commit of its effect; a lost claim ends nothing, nor has any."""
    ids = [claim.entry_id for claim in claims]
    ctx.checkpoint("before_finish", *ids)
    due_work.finish(conn, *claims, all_ours=True)
    ctx.checkpoint("before_commit", *ids)


def _is_long(content: Content) -> bool:
    written = len(content.title) + len(content.text)
    return written + content.attached_bytes > SHORT_CHARACTERS


def _keep_all(
    ctx: Context,
    groups: Sequence[Sequence[EntryResult[T]]],
    keep: Callable[[Sequence[EntryResult[T]]], None],
) -> bool:
    """Keep a group at a time, or one by one; tell whether there was time for all."""
    ends = time.monotonic() + FAILING_SECONDS
    for group in groups:
        error = attempt(keep, group)
        if error is None:
            continue
        log.warning(
            "batch_not_kept",
            count=len(group),
            code=error.error_code,
            technical=error.technical,
        )
        # What harms one of many is found when each is kept by itself. The first is
        # always tried: a batch that comes back is a smaller one.
        for one in group:
            error = attempt(keep, [one])
            if error is not None:
                retry_or_quarantine(ctx, one.claim, error)
            if time.monotonic() >= ends:
                return False
    return True


class Contents:
    """The contents of a batch's entries, read together, or else one by one.

    If the batch cannot be read, only the entry that is to blame fails.
    """

    def __init__(self, ctx: Context, claims: Sequence[Claim]) -> None:
        self._ctx = ctx
        self._found: dict[UUID, Content] = {}
        error = attempt(self._read, claims)
        self._is_read = error is None
        if error is not None:
            log.warning(
                "batch_not_read", code=error.error_code, technical=error.technical
            )

    def of(self, claim: Claim) -> Content | None:
        """Return the present content of an entry, or None if it is deleted."""
        if not self._is_read:
            self._read([claim])
        return self._found.get(claim.entry_id)

    def _read(self, claims: Sequence[Claim]) -> None:
        named = ((claim.tenant, claim.entry_id) for claim in claims)
        with connection(self._ctx.pool) as conn:
            for tenant, ids in ids_by_tenant(named):
                self._found |= read_entries.load_contents(conn, tenant, ids)
