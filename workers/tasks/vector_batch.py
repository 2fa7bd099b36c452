"""Vectors of a batch of entries: made one by one, kept together in few commits."""

import functools
from collections.abc import Callable, Sequence
from uuid import UUID

from shared.embedding.switch import second_model
from shared.embedding.vectors import (
    chunk_prefix,
    embed_entry,
    input_digests,
    not_embedded,
    truncated_entries,
    vector_tables,
)
from shared.embedding.vectors.embed_entry import Embedded
from shared.embedding.vectors.not_embedded import Reason
from shared.entries.reading import parent_excerpt
from shared.entries.reading.read_entries import Content
from shared.messaging.stage_names import ALERT_STAGE
from shared.postgres.pool import connection
from shared.settings.settings import Settings
from shared.watch import waited_for
from shared.work.due_work import Claim
from workers.runtime.context import Context
from workers.tasks import batch_commit
from workers.tasks.batch_commit import EntryResult

# What is stored in one commit; at one chunk, entries that fill it have a commit each.
KEPT_CHUNKS = 32


# Vectors, or why there are none.
Judged = tuple[Embedded, Reason | None]
# What the vectors of a batch's entries are of, by facility.
Known = Callable[[str], dict[UUID, bytes]]


def embed_in_time(ctx: Context, model: str, claims: Sequence[Claim]) -> None:
    """Embed the entries that there is time for; the others go back untouched."""

    # Nobody else makes vectors of what is claimed, so that one look serves the batch.
    @functools.cache
    def known(tenant: str) -> dict[UUID, bytes]:
        ids = [claim.entry_id for claim in claims if claim.tenant == tenant]
        with connection(ctx.pool) as conn:
            return input_digests.load_digests(conn, model, tenant, ids)

    with connection(ctx.pool) as conn:
        settings = ctx.current_settings(conn)
    make = functools.partial(_make, ctx, settings, model, known)
    keep = functools.partial(_keep, ctx, model)
    batch_commit.work(ctx, claims, make, keep, most=KEPT_CHUNKS)


def _make(
    ctx: Context,
    settings: Settings,
    model: str,
    known: Known,
    claim: Claim,
    content: Content | None,
) -> EntryResult[Judged]:
    made: EntryResult[Judged] = EntryResult(claim)
    if content is not None:
        encoder = ctx.encoder(model)
        why = not_embedded.reason(content, model, settings)
        found = embed_entry.nothing(encoder)
        if why is None:
            before = known(content.tenant).get(content.entry_id)
            found = embed_entry.embed(content, encoder, _answered(ctx, content), before)
        weight = max(1, len(found.chunks))
        made = EntryResult(claim, content, (found, why), weight)
    ctx.checkpoint("after_vector", claim.entry_id)
    return made


def _answered(ctx: Context, content: Content) -> str:
    """Return the subject of the answered entry; empty if the own title tells it."""
    # An entry in its first revision without a thread has no parent to ask for.
    is_alone = content.thread_id is None and content.revision == 1
    if is_alone or chunk_prefix.is_telling(content.title):
        return ""
    with connection(ctx.pool) as conn:
        found = parent_excerpt.to(conn, content.tenant, content.entry_id)
    return chunk_prefix.of_answered(*found) if found else ""


def _keep(ctx: Context, model: str, made: Sequence[EntryResult[Judged]]) -> None:
    """Store vectors and end their work, all in one commit; twice equals once."""
    claims = [one.claim for one in made]
    tenant = claims[0].tenant
    there = batch_commit.there(made)
    skipped = any(why == "language" for _, (_, why) in there)
    with connection(ctx.pool) as conn:
        # Without a table the model has been dropped meanwhile: nothing is to be stored.
        table = vector_tables.hold(conn, model)
        if table is not None:
            found = [(content, vectors) for content, (vectors, _) in there]
            locked = embed_entry.store_all(conn, table, tenant, found)
            # Entries that moved on meanwhile get their reason from a later attempt.
            judged = [(one, why) for one, (_, why) in there if one.entry_id in locked]
            not_embedded.store_reasons(conn, model, tenant, judged)
            cut = [(one, it.is_cut) for one, it in found if one.entry_id in locked]
            truncated_entries.store_truncated(conn, model, tenant, cut)
            read = [(one, it.read) for one, it in found if one.entry_id in locked]
            input_digests.store_digests(conn, model, tenant, read)
        waited = waited_for.make_due(
            *(conn, ctx.settings, tenant, [one.entry_id for one, _ in there]),
            work_class=claims[0].work_class,
        )
        batch_commit.end(ctx, conn, claims)
    if skipped:
        second_model.begin_if_needed(ctx.pool, ctx.settings)
    ctx.nudge(ALERT_STAGE, waited)
    ctx.checkpoint("after_commit", *(claim.entry_id for claim in claims))
