"""What Celery runs of the chores: chains of short steps, each resumable.

A task takes the chore's lease, does steps for a while, and sends the nudge for the next
ones. Whoever dies leaves the cursor of the last step that was committed.
"""

import functools
import time
from collections.abc import Callable
from dataclasses import replace
from random import Random
from uuid import UUID

from psycopg import Connection

from shared.embedding.switch import reembed, second_model
from shared.embedding.vectors import not_embedded
from shared.enrich import reanalyse, recount_vocabulary
from shared.enrich.attachments import keep_files
from shared.enrich.attachments.file_store import open_store
from shared.entries.removal import retention
from shared.errors import CapacityError, LogchordError
from shared.glossary import propose_terms
from shared.log import get_logger
from shared.messaging import nudges, task_names
from shared.opensearch import fill_index, index_repair, rebuild
from shared.postgres.pool import connection
from shared.search.retrieval import score_scale
from shared.sources import run_records, source_state
from shared.stages import derived_data, entry_stages, installed_stages, stage_versions
from shared.work import batches, chore_records, expiry
from shared.work.chore_records import Chore, Effect, Progress
from shared.work.leases import MAX_STRIKES, renewed
from workers.runtime.context import Context
from workers.runtime.task import attempt, is_outage, task

log = get_logger()

# The store of attached files has so many folders, and a step looks at one.
_FOLDERS = 256
_RETIRED_A_STEP, _RUNS_A_STEP = 500, 1000

# What is slow happens before, outside every transaction; the effect is committed.
Prepare = Callable[[Context, Chore], Effect]


def _chore(kind: str) -> Callable[[Prepare], Callable[..., None]]:
    """Make a function that prepares the steps of a chore the body of its task."""

    def keep(prepare: Prepare) -> Callable[..., None]:
        def carry_out(ctx: Context, maintenance_id: UUID | None = None) -> None:
            _carry_out(ctx, kind, maintenance_id, prepare)

        carry_out.__name__, carry_out.__doc__ = prepare.__name__, prepare.__doc__
        return task(task_names.chore_task(kind))(carry_out)

    return keep


@_chore(chore_records.MINE_GLOSSARY)
def mine_glossary(ctx: Context, chore: Chore) -> Effect:
    """Propose the terms that entries explain; those read before are not read again."""
    return propose_terms.prepare(ctx.pool, chore.cursor, chore.done)


@_chore(chore_records.COUNT_WORDS)
def count_words(ctx: Context, chore: Chore) -> Effect:
    """Count the entries of each word and name; those of no entry go. Twice is once."""
    return recount_vocabulary.prepare(ctx.pool, chore.cursor, chore.done, ctx.facility)


# A worker of the release before, which knows of no vectors here, ends with this.
_END = str(UUID(int=2**128 - 1))
_READ_TO_THE_END = {"after": _END, "made_due": 0}
_EMBEDDED_TO_THE_END = {"embedded_to": _END, "anew": []}


@_chore(chore_records.RENEW_TEXTS)
def renew_texts(ctx: Context, chore: Chore) -> Effect:
    """Have read anew what another analyser read; what waits for it is left alone."""
    with connection(ctx.pool) as conn:
        settings = ctx.current_settings(conn)
    if chore.cursor is not None and stage_versions.is_begun(chore.cursor):
        found = chore.cursor["found"]
        return stage_versions.prepare(
            ctx.pool, ctx.settings, chore.cursor, chore.done, found
        )
    if chore.cursor is not None and "embedded_to" in chore.cursor:
        by = chore.cursor.get(reanalyse.READ_BY)
        second_model.begin_if_needed(ctx.pool, ctx.settings)
        return _then_versions(
            ctx, not_embedded.prepare(ctx.pool, settings, chore.cursor, chore.done), by
        )
    finders = installed_stages.finders(ctx.settings, ctx.facility)
    effect = reanalyse.prepare(
        ctx.pool, settings, chore.cursor, chore.done, ctx.facility, finders
    )

    # The version at the walk's first page counts: with another facility file since
    # then, the walk is not done for that one.
    first = {reanalyse.READ_BY: reanalyse.read_by(ctx.facility)}
    by = (chore.cursor or first).get(reanalyse.READ_BY)

    def then_vectors(conn: Connection) -> Progress:
        read = effect(conn)
        if read.cursor is not None:
            return read
        went = {**_READ_TO_THE_END, "embedded_to": None, reanalyse.READ_BY: by}
        return replace(read, cursor=went)

    return then_vectors


def _then_versions(ctx: Context, effect: Effect, read_by: str | None) -> Effect:
    """Continue with the walk over versions where this one ends."""

    def commit(conn: Connection) -> Progress:
        judged = effect(conn)
        if judged.cursor is not None:
            return judged
        begun = stage_versions.begin(conn, ctx.settings)
        # A worker of the release before ends with these two.
        known = {**_READ_TO_THE_END, **_EMBEDDED_TO_THE_END, **(judged.result or {})}
        found = {**(judged.result or {}), reanalyse.READ_BY: read_by}
        return replace(judged, cursor={**known, **begun, "found": found}, result=None)

    return commit


@_chore(chore_records.EXPIRE)
def expire(ctx: Context, chore: Chore) -> Effect:
    """Forget what is past its time, in steps; what is forgotten stays forgotten."""
    return functools.partial(
        expiry.forget,
        cursor=chore.cursor,
        done=chore.done,
        idempotency_hours=ctx.settings.idempotency_ttl_hours,
    )


@_chore(chore_records.RECONCILE_INDEX)
def reconcile_index(ctx: Context, chore: Chore) -> Effect:
    """Compare every document with its entry; what differs is due, not doubled."""
    client, base = ctx.opensearch, ctx.settings.opensearch_index
    if client is None:
        effect: Effect = _nothing_to_compare
    else:
        days = ctx.settings.tombstone_days
        effect = index_repair.prepare(
            client, base, ctx.pool, chore, tombstone_days=days
        )
    if chore.cursor is not None:
        return effect
    # Before the first of its steps: what is compared is what is searched.
    measured = score_scale.measure_scale(ctx.pool, client, base, Random())  # noqa: S311 - a sample

    def with_scale(conn: Connection) -> Progress:
        score_scale.store_scale(conn, measured)
        return effect(conn)

    return with_scale


@_chore(chore_records.REBUILD_INDEX)
def rebuild_index(ctx: Context, chore: Chore) -> Effect:
    """Make the index anew beside the old one, and put it in its place once equal."""
    client, base = ctx.opensearch, ctx.settings.opensearch_index
    if client is None:
        return _nothing_to_compare
    days = ctx.settings.tombstone_days
    is_full = (chore.cursor or {}).get("phase") == derived_data.BEGINS["phase"]
    made_by = derived_data.stages(ctx.pool, ctx.settings) if is_full else ()
    return rebuild.prepare(
        client, base, ctx.pool, chore, tombstone_days=days, made_by=made_by
    )


@_chore(chore_records.REBUILD_KNOWLEDGE)
def rebuild_knowledge(ctx: Context, chore: Chore) -> Effect:
    """Have every text read and every vector made anew, in steps, and wait for it."""
    return derived_data.prepare(ctx.pool, ctx.settings, chore)


@_chore(chore_records.REEMBED_MODEL)
def reembed_model(ctx: Context, chore: Chore) -> Effect:
    """Fill the vectors of another model beside those in use, and switch if asked to."""
    prefix = ctx.settings.vector_table_prefix
    return reembed.prepare(ctx.pool, prefix, ctx.encoder, chore)


@_chore(chore_records.REMOVE_FILES)
def remove_files(ctx: Context, chore: Chore) -> Effect:
    """Remove stored files that no entry names any more; the others stay."""
    store = open_store(ctx.settings)
    place = int((chore.cursor or {}).get("next", 0))
    if place == 0:
        store.sweep()
    done = chore.done + keep_files.remove_unused(ctx.pool, store, f"{place:02x}")
    goes_on = place + 1 < _FOLDERS and store.is_there()
    cursor = {"next": place + 1} if goes_on else None
    return lambda _: Progress(cursor, done)


@_chore(chore_records.RETIRE_ENTRIES)
def retire_entries(ctx: Context, chore: Chore) -> Effect:
    """Delete what is older than its source may be kept, and forget old runs."""
    with connection(ctx.pool) as conn:
        sources = source_state.current_settings(conn, ctx.settings.sources)
    limited = {
        name: source
        for name, source in sources.items()
        if source.retention_days is not None
    }
    after = (chore.cursor or {}).get("after", "")
    # A source is gone through until less than a step of it is too old.
    name = next((name for name in limited if name > after), None)
    gone_stages = entry_stages.list_deletion_stages(ctx.settings)

    def effect(conn: Connection) -> Progress:
        forgotten = run_records.forget(conn, limit=_RUNS_A_STEP)
        if name is None:
            return Progress(None, chore.done + forgotten)
        source = limited[name]
        gone = retention.expire(
            conn,
            source.tenant,
            name,
            days=source.retention_days or 0,
            stages=gone_stages,
            limit=_RETIRED_A_STEP,
        )
        ended = len(gone) < _RETIRED_A_STEP
        return Progress({"after": name if ended else after}, chore.done + len(gone))

    return effect


def _nothing_to_compare(conn: Connection) -> Progress:
    # Where there is an index after all, or will be, it has not been compared.
    fill_index.note_missed(conn)
    return Progress(None, 0, 0)


def _carry_out(
    ctx: Context, kind: str, maintenance_id: UUID | None, prepare: Prepare
) -> None:
    with connection(ctx.pool) as conn:
        chore = chore_records.claim(
            conn, kind, maintenance_id, lease_seconds=ctx.timing.lease_seconds
        )
    if chore is None:
        # Ended, or in the hands of another: a nudge comes twice at times.
        return
    walk = _ChoreWalk(ctx, chore, prepare)
    renew = functools.partial(chore_records.renew, chore=chore)
    with renewed(ctx.pool, renew, ctx.timing):
        error = attempt(walk.take_steps)
    if error is not None:
        _settle(ctx, walk.chore, error)
    elif walk.goes_on:
        _send_next(ctx, walk.chore)


class _ChoreWalk:
    """Step after step of a chore, until it ends, is lost, or the time is over."""

    def __init__(self, ctx: Context, chore: Chore, prepare: Prepare) -> None:
        self._ctx = ctx
        self._prepare = prepare
        self.chore = chore
        self.goes_on = False

    def take_steps(self) -> None:
        ends = time.monotonic() + batches.TASK_SECONDS
        while self._step():
            if time.monotonic() >= ends or batches.is_ending():
                with connection(self._ctx.pool) as conn:
                    chore_records.give_back(conn, self.chore)
                self.goes_on = True
                return

    def _step(self) -> bool:
        """Do one step; false when no next one is ours."""
        ctx, chore = self._ctx, self.chore
        ctx.checkpoint("before_step", chore.id)
        effect = self._prepare(ctx, chore)
        with connection(ctx.pool) as conn:
            if not chore_records.hold(conn, chore):
                # Cancelled, started over, or taken by another after our lease.
                log.info("chore_lost", kind=chore.kind, maintenance_id=str(chore.id))
                return False
            progress = effect(conn)
            chore_records.advance(conn, chore, progress)
            ctx.checkpoint("before_commit", chore.id)
        ctx.checkpoint("after_step", chore.id)
        self.chore = replace(
            chore,
            cursor=progress.cursor,
            done=progress.done,
            total=progress.total,
            strikes=1,
        )
        if progress.cursor is None:
            log.info("chore_done", kind=chore.kind, done=progress.done)
        # One that waits is nobody's until its time has come.
        return progress.cursor is not None and not progress.wait_seconds


def _settle(ctx: Context, chore: Chore, error: LogchordError) -> None:
    """Make a failed chore due again, or end it with the reason."""
    backend = is_outage(error)
    # A chore is everybody's: whatever stopped it may be mended by the third attempt.
    give_up = not backend and chore.strikes >= MAX_STRIKES
    log.warning(
        "chore_failed" if give_up else "chore_due_again",
        kind=chore.kind,
        maintenance_id=str(chore.id),
        strikes=chore.strikes,
        code=error.error_code,
        technical=error.technical,
    )
    with connection(ctx.pool) as conn:
        if give_up:
            chore_records.fail(conn, chore, error)
        else:
            chore_records.retry_chore_later(conn, chore, error, backend=backend)


def _send_next(ctx: Context, chore: Chore) -> None:
    try:
        nudges.send_chore(ctx.app, chore.kind, chore.id)
    except CapacityError as exc:
        # The row is due all the same: the scheduler nudges for it.
        log.warning("nudge_lost", kind=chore.kind, technical=exc.technical)
