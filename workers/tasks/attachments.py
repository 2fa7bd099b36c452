"""What Celery runs to fetch the files beside entries, and to read what is in them."""

import functools
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace

from shared.enrich.attachments import attachment_states, fetch_files, keep_files
from shared.enrich.attachments.attachment_states import Due
from shared.enrich.attachments.fetch_files import Fetch, Means, Outcome
from shared.enrich.attachments.file_store import (
    STORE_UNAVAILABLE,
    FileStore,
    open_store,
)
from shared.entries.saving import attachment_rows
from shared.errors import ConfigurationError, IngestionError, LogchordError
from shared.log import get_logger
from shared.messaging import stage_names, task_names
from shared.postgres.pool import connection
from shared.settings.source_sections import SourceSettings
from shared.sources import load_adapter, source_state
from shared.sources.adapter_io import make_io
from shared.sources.intake import attachment_file
from shared.sources.shared_pace import make_shared_pace
from shared.sources.source_state import SourceState
from shared.work import batches
from shared.work import due_work as work
from shared.work.bulk_turn import Turn
from shared.work.due_work import Claim
from workers.runtime.context import Context
from workers.runtime.task import Ids, each, retry_or_quarantine, task

log = get_logger()

# The bounds of an entry's turn, so that it ends within the task's time limit: files
# are begun until the first, fetched until the second, and the last is then read.
BEGIN_SECONDS, FETCH_SECONDS = 4.0, 28.0
# A source that does not answer is left alone for so long, by each process.
REST_SECONDS = 30.0
# Then a file that its source does not give is failed. While the source gives none at
# all, no more attempts count than make the wait for the next one its longest.
MOST_ATTEMPTS = 100
_COUNTED_WHILE_AWAY = 10
# One child of a worker at a time waits for files: those of a source that hangs would
# else hold all of them, and nothing that comes in would be read meanwhile.
FETCHING_TURN = Turn()
# Longer than one entry takes.
_TURN_SECONDS = 35.0


@task(task_names.EXTRACT_ATTACHMENT)
def extract_attachment(ctx: Context, entry_ids: Ids = ()) -> None:
    """Fetch and read the files of entries that are due; twice equals once."""
    ctx.checkpoint("before_claim", *entry_ids)
    if not FETCHING_TURN.take(_TURN_SECONDS):
        # It stays due: whoever has the turn goes on with it, or the sweep asks again.
        return
    try:
        for claims in ctx.batches(stage_names.ATTACHMENTS_STAGE, entry_ids, limit=1):
            ctx.checkpoint("after_claim", *(claim.entry_id for claim in claims))
            FETCHING_TURN.take(_TURN_SECONDS)
            each(ctx, claims, functools.partial(_fetch, ctx))
    finally:
        FETCHING_TURN.give_back()


def _fetch(ctx: Context, claim: Claim) -> None:
    started = time.monotonic()
    with connection(ctx.pool) as conn:
        due = attachment_states.list_due_files(conn, claim.tenant, claim.entry_id)
        before = attachment_states.stored_before(conn, claim.tenant, claim.entry_id)
    outcome = _outcome(ctx, claim, due, started) if due else Outcome()
    if before and outcome == Outcome():
        # A newer reader may find more in them: that is what the stage is due for, too.
        outcome = fetch_files.read_all_anew(
            _means(ctx, _settings_of(_standing(ctx, claim, before[0].source))),
            before,
            begin_until=started + BEGIN_SECONDS,
        )
    ctx.checkpoint("after_fetch", claim.entry_id)
    error = outcome.error
    if error is not None and _is_of_store(error):
        # Every file of every entry would fail likewise.
        retry_or_quarantine(ctx, claim, error)
    elif error is not None and outcome.is_everywhere:
        _again(ctx, claim, error, counts=claim.attempts <= _COUNTED_WHILE_AWAY)
    elif error is not None and claim.attempts < MOST_ATTEMPTS:
        _again(ctx, claim, error)
    elif outcome.unfinished:
        with connection(ctx.pool) as conn:
            work.release(conn, claim.claim)
    else:
        _end(ctx, claim, error)


def _outcome(ctx: Context, claim: Claim, due: Sequence[Due], started: float) -> Outcome:
    name = due[0].source
    resting: dict[str, tuple[float, LogchordError]] = ctx.kept("resting", dict)
    until, error = resting.get(name, (0.0, None))
    if started < until:
        return Outcome(error=error, is_everywhere=True)
    standing = _standing(ctx, claim, name)
    source = _settings_of(standing)
    means = _means(ctx, source)
    with ExitStack() as opened:
        try:
            fetch = opened.enter_context(
                _opened(ctx, name, source, started + FETCH_SECONDS)
            )
        except (ConfigurationError, IngestionError) as exc:
            return Outcome(error=exc, is_everywhere=True)
        outcome = fetch_files.fetch_all(
            means, due, fetch, begin_until=started + BEGIN_SECONDS
        )
    if outcome.is_everywhere and outcome.error is not None:
        resting[name] = (time.monotonic() + REST_SECONDS, outcome.error)
    is_more = _ask_for_linked_anew(ctx, claim, name, standing)
    return replace(outcome, unfinished=outcome.unfinished or is_more)


def _standing(ctx: Context, claim: Claim, name: str) -> SourceState | None:
    """Return the present state of a source, whenever it was added; None: it is gone.

    What this process has read of the configuration may be of long ago.
    """
    with connection(ctx.pool) as conn:
        return source_state.load_source_state(conn, claim.tenant, name)


def _settings_of(standing: SourceState | None) -> SourceSettings | None:
    return None if standing is None else standing.settings


def _ask_for_linked_anew(
    ctx: Context, claim: Claim, name: str, fetched_by: SourceState | None
) -> bool:
    """Make linked files due whose source is set to fetch by now.

    Whoever changes them later finds it linked, and makes it due.
    """
    with connection(ctx.pool) as conn:
        now = source_state.await_config_hash(conn, claim.tenant, name)
    if now == (fetched_by.config_hash if fetched_by else None):
        return False
    source = _settings_of(_standing(ctx, claim, name))
    if source is None or source.attachments != "fetch":
        return False
    with connection(ctx.pool) as conn:
        linked = attachment_rows.ask_for_linked(
            conn,
            claim.tenant,
            name,
            most=ctx.settings.max_attachments_per_entry,
            most_bytes=_max_bytes(ctx, source),
            refused=True,
            entry_id=claim.entry_id,
        )
    return bool(linked)


def _means(ctx: Context, source: SourceSettings | None) -> Means:
    return Means(
        ctx.pool,
        _store(ctx),
        keep_files.bounds_of(ctx.settings),
        max_bytes=_max_bytes(ctx, source),
        max_per_entry=ctx.settings.max_attachments_per_entry,
    )


def _again(
    ctx: Context, claim: Claim, error: LogchordError, *, counts: bool = True
) -> None:
    """Ask the source again later: that it is away is no strike of the entry."""
    with connection(ctx.pool) as conn:
        work.retry_later(conn, claim, error, backend=not counts, strike=False)
    log.warning(
        "attachments_due_again",
        entry_id=str(claim.entry_id),
        attempts=claim.attempts,
        code=error.error_code,
        technical=error.technical,
    )


def _end(ctx: Context, claim: Claim, error: LogchordError | None) -> None:
    with connection(ctx.pool) as conn:
        if error is not None:
            # What an edit has brought meanwhile was not asked for often enough.
            left = attachment_states.list_due_files(conn, claim.tenant, claim.entry_id)
            fetch_files.give_up(conn, left, error)
        # What was read in the files is searched.
        ids, stages = [claim.entry_id], [stage_names.METADATA_STAGE]
        work.add(conn, claim.tenant, ids, stages, work_class=claim.work_class)
        ctx.checkpoint("before_finish", claim.entry_id)
        work.finish(conn, claim)
        ctx.checkpoint("before_commit", claim.entry_id)
    ctx.checkpoint("after_commit", claim.entry_id)
    ctx.nudge(stage_names.METADATA_STAGE, ids)


def _is_of_store(error: LogchordError) -> bool:
    return isinstance(error, IngestionError) and error.reason == STORE_UNAVAILABLE


def _store(ctx: Context) -> FileStore:
    def make() -> FileStore:
        store = open_store(ctx.settings)
        store.sweep()
        return store

    return ctx.kept("attachments", make)


def _max_bytes(ctx: Context, source: SourceSettings | None) -> int:
    most = ctx.settings.max_attachment_bytes
    return min(most, source.max_attachment_bytes) if source else most


@contextmanager
def _opened(
    ctx: Context, name: str, source: SourceSettings | None, ends: float
) -> Iterator[Fetch | None]:
    """Give what fetches the files of a source; None where nothing is to be fetched."""
    if source is None or source.attachments != "fetch":
        yield None
        return
    # What is new in the logbook comes before what hangs on it.
    with (
        closing(make_shared_pace(ctx.settings, name, source, is_urgent=False)) as pace,
        make_io(name, source, cancelled=batches.is_ending, pace=pace, ends=ends) as io,
    ):
        most = ctx.settings.max_entry_bytes
        opened = load_adapter.open_source(name, source, io, max_entry_bytes=most)
        yield functools.partial(attachment_file.open_attachment, opened.adapter, io)
