"""A search asked again: the same order, or which of its inputs has changed."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, LiteralString

from psycopg import Connection

from shared.access import rights
from shared.access.scope import Scope
from shared.postgres import statement_deadline
from shared.postgres.fetch_rows import fetch_value
from shared.search.jobs.job import StoredJob
from shared.search.jobs.outcome import Outcome
from shared.search.query.plan import Plan
from shared.search.ranking import fold
from shared.search.response import job_answer
from shared.search.response.respond import stability_hash

# The comparison may take so long; with less time it stays unknown.
LOOK_UP_MS = 500

# Looks for any write, for entries that the caller cannot see move scores, too. It reads
# the index of changes: one of the last writers began after that moment.
_WRITTEN: LiteralString = """
    SELECT EXISTS (
           SELECT FROM (SELECT e.modified_at
                          FROM entry e
                         WHERE e.tenant = %(tenant)s
                         ORDER BY e.changed_xid DESC, e.id DESC
                         LIMIT 1000) AS last
            WHERE last.modified_at >= %(since)s)"""
_SEEN: LiteralString = f"""
    SELECT e.id::text, e.revision,
           greatest(e.modified_at, e.visible_from) >= %(since)s
      FROM entry e
     WHERE e.tenant = %(tenant)s AND e.id = ANY (%(ids)s::uuid[])
       AND e.deleted_at IS NULL{rights.SEEN}
     LIMIT 1000"""


def compare(
    conn: Connection, scope: Scope, old: StoredJob, new: StoredJob
) -> dict[str, Any]:
    """Return whether two jobs ended in the same order, and what changed between."""
    statement_deadline.limit_time(conn, LOOK_UP_MS)
    hashes = (hash_of(old), hash_of(new))
    same = None if None in hashes else hashes[0] == hashes[1]
    return {
        "of": str(old.id),
        "same": same,
        "old_hash": hashes[0],
        "new_hash": hashes[1],
        "changed": [
            {"input": name, "from": before, "to": after}
            for name, before, after in _changed(conn, scope, old, new, same=same)
        ],
    }


def hash_of(job: StoredJob) -> str | None:
    """Return the stability hash of a job's order; None: the job has no order."""
    if job.ranked is None:
        return None
    kept: str | None = job.ranked.get("stability_hash")
    # A job of an earlier release has no hash: it is made of the stored order.
    return kept or stability_hash(_page(job))


_Change = tuple[str, str | None, str | None]


def _changed(
    conn: Connection, scope: Scope, old: StoredJob, new: StoredJob, *, same: bool | None
) -> Iterator[_Change]:
    told = [job_answer.branches_of(job) for job in (old, new)]
    configs = [job.plan.get("config_hash") or None for job in (old, new)]
    if configs[0] != configs[1]:
        yield "config", configs[0], configs[1]
    models = [next((b.model for b in one if b.model), None) for one in told]
    if models[0] != models[1]:
        yield "model", models[0], models[1]
    cut = [_cut(one) for one in told]
    if cut[0] != cut[1]:
        yield "deadline", cut[0], cut[1]
    marks = [min((b.as_of for b in one if b.as_of), default=None) for one in told]
    # An entry that could not be searched then may be searched now. Where both orders
    # are the same, only what was written since counts.
    since = old.created_at if same or not marks[0] else datetime.fromisoformat(marks[0])
    entries = list(_entries(conn, scope, old, new, since))
    yield from entries
    was_edited = any(before and after for _, before, after in entries)
    written = {"tenant": scope.tenant, "since": since}
    if was_edited or fetch_value(conn, _WRITTEN, written):
        yield "index_watermark", marks[0], marks[1]


def _entries(
    conn: Connection, scope: Scope, old: StoredJob, new: StoredJob, since: datetime
) -> Iterator[_Change]:
    """Yield the entries of the pages that were edited, came or went.

    An entry that others pushed off its page, or let onto it, has not changed itself.
    """
    before, after = (
        {item.entry_id: item.revision for item in _page(job)} for job in (old, new)
    )
    ids = sorted({*before, *after})
    rows = conn.execute(_SEEN, {**scope.params, "ids": ids, "since": since})
    seen = {entry_id: (revision, is_new) for entry_id, revision, is_new in rows}
    scopes = [Plan.from_values(job.plan).scope for job in (old, new)]
    if not all(map(scope.sees_all_of, scopes)):
        # Entries that this caller cannot see are not named, though a job found them.
        ids = [one for one in ids if one in seen]
    for entry_id in ids:
        first, second = before.get(entry_id), after.get(entry_id)
        revision, is_new = seen.get(entry_id, (None, False))
        if first is None and not is_new:
            continue
        second = second if second is not None else revision
        if first != second:
            was, now = (r and f"{entry_id}@{r}" for r in (first, second))
            yield "entry", was, now


def _page(job: StoredJob) -> list[Any]:
    if job.ranked is None:
        return []
    runs = fold.group_runs(job_answer.read_order(job.ranked).items)
    return [run[0] for run in runs[: job.plan["limit"]]]


def _cut(branches: Sequence[Outcome]) -> str | None:
    return (
        ", ".join(sorted(one.name for one in branches if one.ran_out_of_time)) or None
    )
