"""Metadata of a batch of entries: found one by one, kept together in few commits."""

import functools
from collections.abc import Sequence

from shared.enrich import metadata
from shared.enrich.metadata import Extracted
from shared.entries.reading.read_entries import Content
from shared.entries.saving import attachment_rows
from shared.messaging.stage_names import ALERT_STAGE, INDEX_STAGE, METADATA_STAGE
from shared.postgres.pool import connection
from shared.settings.settings import Settings
from shared.settings.text_expectations import find_expectations
from shared.stages import entry_stages
from shared.text.reading.typed_metadata import Declared
from shared.watch import waited_for
from shared.work import due_work
from shared.work.due_work import Claim
from workers.runtime.context import Context
from workers.tasks import batch_commit
from workers.tasks.batch_commit import EntryResult

# What is stored in one commit, a long text counted as several.
KEPT_ENTRIES = 32


def extract_in_time(ctx: Context, claims: Sequence[Claim]) -> None:
    """Read the entries that there is time for; the others go back untouched."""
    with connection(ctx.pool) as conn:
        settings = ctx.current_settings(conn)
    read = functools.partial(_read, ctx, settings)
    keep = functools.partial(_keep, ctx)
    # What is gone makes other work due than its neighbours do: in one commit, the rows
    # of work would be locked out of order.
    batch_commit.work(ctx, claims, read, keep, most=KEPT_ENTRIES, apart=_is_gone)


def _is_gone(one: EntryResult[Extracted]) -> bool:
    return one.content is None


def _read(
    ctx: Context, settings: Settings, claim: Claim, content: Content | None
) -> EntryResult[Extracted]:
    if content is None or content.deleted:
        return EntryResult(claim)
    known = find_expectations(settings, content.source, content.tenant)
    declared = Declared(known.metadata, known.zone)
    files = _texts_of_files(ctx, content)
    found = metadata.extract(
        content, known.language, ctx.facility, files, known.decimal_mark, declared
    )
    # What its files say stands there, too.
    longer = len(found.analysis.stream) // batch_commit.SHORT_CHARACTERS
    return EntryResult(claim, content, found, weight=1 + longer)


def _texts_of_files(ctx: Context, content: Content) -> list[str]:
    if not content.has_attachments:
        return []
    with connection(ctx.pool) as conn:
        return attachment_rows.load_texts(conn, content.tenant, content.entry_id)


def _keep(ctx: Context, read: Sequence[EntryResult[Extracted]]) -> None:
    """Store the findings and end their work, all in one commit; idempotent."""
    claims = [one.claim for one in read]
    tenant, work_class = claims[0].tenant, claims[0].work_class
    gone = [one.claim.entry_id for one in read if _is_gone(one)]
    with connection(ctx.pool) as conn:
        learnt = metadata.store_all(
            conn,
            tenant,
            batch_commit.there(read),
            ctx.known,
            work_class=work_class,
            following=entry_stages.list_next_stages(ctx.settings, METADATA_STAGE),
        )
        due_work.add(conn, tenant, gone, [INDEX_STAGE], work_class=work_class)
        there = [content.entry_id for content, _ in batch_commit.there(read)]
        waited = waited_for.make_due(
            conn, ctx.settings, tenant, there, work_class=work_class
        )
        batch_commit.end(ctx, conn, claims)
    if learnt is not None:
        learnt.remember()
    ctx.nudge(ALERT_STAGE, waited)
    ctx.checkpoint("after_commit", *(claim.entry_id for claim in claims))
