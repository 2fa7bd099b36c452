"""What the index lacks: a batch of documents, or, where it is new, all of them.

The latter are found by a chore, which walks every entry.
"""

import functools
import math
import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import LiteralString
from uuid import UUID

from opensearchpy import OpenSearch
from psycopg import Connection

from shared.errors import OpenSearchError
from shared.log import get_logger
from shared.messaging.stage_names import INDEX_STAGE
from shared.opensearch import aliases, bulk, documents, mapping, portions
from shared.opensearch.aliases import Indices
from shared.opensearch.documents import Document
from shared.opensearch.portions import Sized
from shared.postgres.fetch_rows import fetch_value
from shared.postgres.pool import Pool, connection, format_array
from shared.work import backlog, chore_records
from shared.work.chore_records import RECONCILE_INDEX
from shared.work.due_work import Claim

log = get_logger()

# Each goes with a request of its own, and while it is on its way the next is read. A
# hundred documents take OpenSearch more than half the time of four hundred.
_LOADED_AT_ONCE = 400
# So many of a megabyte each are no matter; how large they are need not be asked.
_FEW = 25
# The stream of any revision tells how much there is to hold; the size as stored is
# compressed, and does not.
_SIZES: LiteralString = """
    SELECT t.entry_id, octet_length(t.stream)
      FROM entry_text t
     WHERE t.entry_id = ANY(%(ids)s::uuid[]) AND t.tenant = %(tenant)s
     LIMIT 1000"""
# Noted once: whoever ends index work without OpenSearch does so for every entry.
_NOTE_MISSED: LiteralString = """
    UPDATE installation SET index_missed_at = now() WHERE index_missed_at IS NULL"""
# False for a new installation, where everything is still to be indexed.
_WAS_INDEXED: LiteralString = """
    SELECT EXISTS (
        SELECT FROM entry e
         WHERE NOT EXISTS (SELECT FROM work w
                            WHERE w.entry_id = e.id
                              AND w.stage = ANY ('{metadata,index}')))"""
# A reconcile that began a moment ago will not be begun again and again: it may be that
# the worker of chores was started without OpenSearch, and notes it once more.
_TAKE_MISSED: LiteralString = """
    UPDATE installation SET index_missed_at = NULL
     WHERE index_missed_at IS NOT NULL
       AND NOT EXISTS (SELECT FROM maintenance
                        WHERE kind = %(kind)s
                          AND created_at > clock_timestamp() - interval '1 minute'
                          AND state = 'done')"""


@dataclass(frozen=True, slots=True)
class Portion:
    """Entries of one request, and the documents of those that have one."""

    ids: list[UUID]
    documents: list[Document]


def fill(
    client: OpenSearch,
    base: str,
    pool: Pool,
    claims: Iterable[Claim],
    *,
    until: float = math.inf,
) -> Generator[tuple[list[UUID], dict[UUID, OpenSearchError]]]:
    """Write the documents of entries as they are now; yield those that are done.

    A portion at a time, with errors by entry; past `until`, of the monotonic clock,
    none is begun. Close it: what is on its way is waited for.
    """
    indices = ensure_filled(client, base, pool)

    def write(portion: Portion) -> dict[UUID, OpenSearchError]:
        errors: dict[UUID, OpenSearchError] = {}
        for alias in indices.written:
            errors |= bulk.write(client, alias, portion.documents)
        return errors

    # Each request has a time-out of its own, so that this thread ends.
    loaded = _loaded(pool, claims, until)
    with closing(portions.use_beside(loaded, write)) as written:
        for portion, errors in written:
            yield portion.ids, errors


def _loaded(pool: Pool, claims: Iterable[Claim], until: float) -> Iterator[Portion]:
    """Yield the documents of entries, in portions that fit into memory."""
    for tenant, ids in portions.cut(_sized(pool, claims), most=_LOADED_AT_ONCE):
        if time.monotonic() >= until:
            return
        with connection(pool) as conn:
            found = documents.load(conn, tenant, ids)
        yield Portion(ids, found)


def _sized(pool: Pool, claims: Iterable[Claim]) -> Iterator[Sized]:
    for tenant, ids in backlog.ids_by_tenant(
        (one.tenant, one.entry_id) for one in claims
    ):
        sizes: dict[UUID, int] = {}
        if len(ids) > _FEW:
            with connection(pool) as conn:
                named = {"ids": format_array(ids), "tenant": tenant}
                sizes = dict(conn.execute(_SIZES, named).fetchall())
        yield from (Sized(one, tenant, sizes.get(one, 0)) for one in ids)


def ensure_filled(client: OpenSearch, base: str, pool: Pool) -> Indices:
    """Make the index if it is missing, and the chore that fills it."""
    # The chore is committed before the index is open for writing: dying between the
    # two leaves no index, and the next one to look makes both.
    return aliases.ensure_index(client, base, functools.partial(_reconcile, pool, base))


def note_missed(conn: Connection) -> None:
    """Remember that index work ended without OpenSearch: the index lacks it."""
    conn.execute(_NOTE_MISSED)


def catch_up(pool: Pool) -> None:
    """Start a comparison of the index if work ended while OpenSearch was off."""
    with connection(pool) as conn:
        # Both in one commit; what is missed from now on is noted anew.
        if conn.execute(_TAKE_MISSED, {"kind": RECONCILE_INDEX}).rowcount:
            log.warning("index_missed_work")
            chore_records.start_over(conn, RECONCILE_INDEX)


def is_filled(conn: Connection) -> bool:
    """Tell whether what a new index lacked when it was made is in it by now."""
    last = chore_records.last_of(conn, RECONCILE_INDEX)
    if last is None or (last.ended_at is not None and last.state != "done"):
        chore_records.start_over(conn, RECONCILE_INDEX)
        return False
    return last.ended_at is not None and not backlog.is_left(
        conn, INDEX_STAGE, last.ended_at
    )


def _reconcile(pool: Pool, base: str) -> bool:
    log.warning("index_made", index=mapping.write_alias(base))
    with connection(pool) as conn:
        chore_records.start_over(conn, RECONCILE_INDEX)
        # One that was lost holds nothing of what was in it: searched before it is
        # filled, it would say that there is nothing.
        return not fetch_value(conn, _WAS_INDEXED)
