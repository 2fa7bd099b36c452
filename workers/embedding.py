"""Vectors of a batch of entries: made one by one, kept together in few commits."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

from shared.due import rows
from shared.due.rows import Claim
from shared.embedding import of_entry, skipping, tables
from shared.embedding.of_entry import Embedded
from shared.embedding.skipping import Reason
from shared.entries.reading import Content
from shared.postgres import connection
from workers.contents import Contents
from workers.context import Context
from workers.task import BATCH_SECONDS, attempt, each

# What is stored in one commit, which holds the entries' rows for as long; and how long
# vectors are gathered for it.
KEPT_CHUNKS, KEEP_SECONDS = 32, 0.5
# About what four chunks hold; at one, entries that fill it have a commit each. A longer
# text may take many seconds, or the process with it: what is made is kept before, so
# that a death costs short entries at most.
SHORT_CHARACTERS = 4000


@dataclass(frozen=True, slots=True)
class Made:
    """What was made of one entry, or why nothing was; without content it is gone."""

    claim: Claim
    content: Content | None
    found: Embedded | None
    why: Reason | None

    @property
    def weight(self) -> int:
        """How much there is to store."""
        return max(1, len(self.found.chunks)) if self.found else 1


def embed_in_time(ctx: Context, model: str, claims: Sequence[Claim]) -> None:
    """Embed those that there is time for; the others go back untouched."""
    contents = Contents(ctx, claims)
    ends = time.monotonic() + BATCH_SECONDS
    keep_at = time.monotonic() + KEEP_SECONDS
    waiting: list[Made] = []

    def keep() -> None:
        _keep_all(ctx, model, waiting)
        waiting.clear()

    def step(claim: Claim) -> None:
        content = contents.of(claim)
        why = skipping.reason(content, model, ctx.settings) if content else None
        if content is not None and why is None and _is_long(content):
            keep()
        made = _made(ctx, model, claim, content, why)
        ctx.checkpoint("after_vector", claim.entry_id)
        waiting.append(made)

    left = list(reversed(claims))
    while left and time.monotonic() < ends:
        each(ctx, [left.pop()], step)
        is_enough = sum(one.weight for one in waiting) >= KEPT_CHUNKS
        if is_enough or time.monotonic() >= keep_at:
            keep()
            keep_at = time.monotonic() + KEEP_SECONDS
    keep()
    if left:
        with connection(ctx.pool) as conn:
            rows.release(conn, claims[0].claim)


def _is_long(content: Content) -> bool:
    return len(content.title) + len(content.text) > SHORT_CHARACTERS


def _made(
    ctx: Context,
    model: str,
    claim: Claim,
    content: Content | None,
    why: Reason | None,
) -> Made:
    if content is None:
        return Made(claim, None, None, None)
    encoder = ctx.encoder(model)
    found = of_entry.nothing(encoder) if why else of_entry.embed(content, encoder)
    return Made(claim, content, found, why)


def _keep_all(ctx: Context, model: str, made: Sequence[Made]) -> None:
    if made and attempt(_keep, ctx, model, made) is not None:
        # What harms one of many is found when each is kept by itself.
        by_entry = {one.claim.entry_id: one for one in made}
        each(
            ctx,
            [one.claim for one in made],
            lambda claim: _keep(ctx, model, [by_entry[claim.entry_id]]),
        )


def _keep(ctx: Context, model: str, made: Sequence[Made]) -> None:
    """Store vectors and end their work, all in one commit; twice equals once."""
    ids = [one.claim.entry_id for one in made]
    # Locks are taken facility by facility, and within one by id, as a page's are.
    in_order = sorted(made, key=lambda one: (one.claim.tenant, one.claim.entry_id))
    with connection(ctx.pool) as conn:
        # Without a table the model has been dropped meanwhile: nothing is to be stored.
        table = tables.hold(conn, model)
        if table is not None:
            for tenant, group in groupby(in_order, key=attrgetter("claim.tenant")):
                there = [
                    (one.content, one.found, one.why)
                    for one in group
                    if one.content is not None and one.found is not None
                ]
                found = [(content, vectors) for content, vectors, _ in there]
                locked = of_entry.store_all(conn, table, tenant, found)
                # Of whom moved on meanwhile, a later attempt will say it.
                judged = [
                    (content, why)
                    for content, _, why in there
                    if content.entry_id in locked
                ]
                skipping.note(conn, model, tenant, judged)
        ctx.checkpoint("before_finish", *ids)
        rows.finish(conn, *(one.claim for one in made))
        ctx.checkpoint("before_commit", *ids)
    ctx.checkpoint("after_commit", *ids)
