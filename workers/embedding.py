"""Vectors of a batch of entries: made one by one, kept together in few commits."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from uuid import UUID

from shared.due.rows import Claim
from shared.embedding import (
    covering,
    heading,
    inputs,
    of_entry,
    skipping,
    tables,
)
from shared.embedding.of_entry import Embedded
from shared.embedding.skipping import Reason
from shared.entries import replied
from shared.entries.reading import Content
from shared.postgres import connection
from workers import together
from workers.context import Context
from workers.together import Made

# What is stored in one commit; at one chunk, entries that fill it have a commit each.
KEPT_CHUNKS = 32


# Vectors, or why there are none.
Judged = tuple[Embedded, Reason | None]
# What the vectors of a batch's entries are of, by facility.
Known = Callable[[str], dict[UUID, bytes]]


def embed_in_time(ctx: Context, model: str, claims: Sequence[Claim]) -> None:
    """Embed those that there is time for; the others go back untouched."""

    # Nobody else makes vectors of what is claimed, so that one look serves the batch.
    @functools.cache
    def known(tenant: str) -> dict[UUID, bytes]:
        ids = [claim.entry_id for claim in claims if claim.tenant == tenant]
        with connection(ctx.pool) as conn:
            return inputs.known(conn, model, tenant, ids)

    make = functools.partial(_make, ctx, model, known)
    keep = functools.partial(_keep, ctx, model)
    together.work(ctx, claims, make, keep, most=KEPT_CHUNKS)


def _make(
    ctx: Context, model: str, known: Known, claim: Claim, content: Content | None
) -> Made[Judged]:
    made: Made[Judged] = Made(claim)
    if content is not None:
        encoder = ctx.encoder(model)
        why = skipping.reason(content, model, ctx.settings)
        found = of_entry.nothing(encoder)
        if why is None:
            before = known(content.tenant).get(content.entry_id)
            found = of_entry.embed(content, encoder, _answered(ctx, content), before)
        weight = max(1, len(found.chunks))
        made = Made(claim, content, (found, why), weight)
    ctx.checkpoint("after_vector", claim.entry_id)
    return made


def _answered(ctx: Context, content: Content) -> str:
    """Return what the entry is about by what it replies to; empty: its own title."""
    # Of one that came just now and stands alone there is nothing to ask.
    is_alone = content.thread_id is None and content.revision == 1
    if is_alone or heading.is_telling(content.title):
        return ""
    with connection(ctx.pool) as conn:
        found = replied.to(conn, content.tenant, content.entry_id)
    return heading.of_answered(*found) if found else ""


def _keep(ctx: Context, model: str, made: Sequence[Made[Judged]]) -> None:
    """Store vectors and end their work, all in one commit; twice equals once."""
    claims = [one.claim for one in made]
    tenant = claims[0].tenant
    there = together.there(made)
    with connection(ctx.pool) as conn:
        # Without a table the model has been dropped meanwhile: nothing is to be stored.
        table = tables.hold(conn, model)
        if table is not None:
            found = [(content, vectors) for content, (vectors, _) in there]
            locked = of_entry.store_all(conn, table, tenant, found)
            # Of whom moved on meanwhile, a later attempt will say it.
            judged = [(one, why) for one, (_, why) in there if one.entry_id in locked]
            skipping.note(conn, model, tenant, judged)
            cut = [(one, it.is_cut) for one, it in found if one.entry_id in locked]
            covering.note(conn, model, tenant, cut)
            read = [(one, it.read) for one, it in found if one.entry_id in locked]
            inputs.note(conn, model, tenant, read)
        together.end(ctx, conn, claims)
    ctx.checkpoint("after_commit", *(claim.entry_id for claim in claims))
