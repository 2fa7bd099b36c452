"""The index made anew beside the one that is searched, and put in its place.

Searches stay with the old index until the new one holds the same documents. From the
moment the write alias moves, both are written; whoever gives up leaves the old one as
complete as it was. Each step may be done twice.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, LiteralString
from uuid import UUID

from opensearchpy import OpenSearch
from psycopg import Connection

from shared.errors import InternalError
from shared.log import get_logger
from shared.messaging.stage_names import INDEX_STAGE
from shared.opensearch import (
    aliases,
    bulk,
    compare_index,
    documents,
    fill_index,
    index_repair,
    mapping,
    portions,
    sample_searches,
)
from shared.opensearch.compare_index import Sides
from shared.opensearch.portions import Sized
from shared.postgres.fetch_rows import fetch_all, fetch_value
from shared.postgres.pool import Pool, connection
from shared.stages import derived_data
from shared.work import backlog, chore_records
from shared.work import due_work as due
from shared.work.chore_records import Chore, Effect, PhasedChore, Progress

log = get_logger()

STEP_ENTRIES = 1000
_LOADED_AT_ONCE = 250
# Longer than a search may take, which may just have begun in the old index.
DRAIN_SECONDS = 15.0
MAX_ROUNDS = 10

# Whoever claimed before the write alias moved may have looked before it did, too.
_EARLIER_CLAIMS: LiteralString = """
    SELECT EXISTS (
        SELECT FROM work
         WHERE stage = %(stage)s AND claim IS NOT NULL AND claimed_at <= %(moved_at)s
           AND leased_until > clock_timestamp())"""
_LAST: LiteralString = "SELECT id FROM entry ORDER BY id DESC LIMIT 1"
_PAGE: LiteralString = """
    SELECT e.id, e.tenant, coalesce(octet_length(t.stream), 0) AS size
      FROM entry e
      LEFT JOIN entry_text t ON t.entry_id = e.id AND t.tenant = e.tenant
     WHERE (%(after)s::uuid IS NULL OR e.id > %(after)s)
       AND (%(until)s::uuid IS NULL OR e.id <= %(until)s)
       AND (e.deleted_at IS NULL
            OR e.modified_at >= now() - make_interval(days => %(tombstone_days)s))
     ORDER BY e.id
     LIMIT %(limit)s"""

# How a chore begins that has what is derived in Postgres made anew first.
FULL: dict[str, Any] = derived_data.BEGINS
_BEFORE_THE_INDEX = frozenset({"read", "reading", "create", "open"})


@dataclass(frozen=True, slots=True)
class _Site(PhasedChore):
    """One chore's index, and the servers on both sides."""

    client: OpenSearch
    base: str
    pool: Pool
    tombstone_days: int
    # The stages that make what is derived in Postgres.
    knowledge: Sequence[str]

    @property
    def sides(self) -> Sides:
        """The new index and Postgres, to be compared."""
        return Sides(self.client, self.name, self.pool, self.tombstone_days)

    @property
    def name(self) -> str:
        """Return the name of the new index, by which any process finds it again."""
        return aliases.name_of(self.base, self.chore.id.hex)


def ask(conn: Connection, *, full: bool = False) -> UUID:
    """Make the chore due, and return its id; refuse if one is under way."""
    refusal = "The index is being made anew already."
    begins = FULL if full else None
    return chore_records.ask(conn, chore_records.REBUILD_INDEX, begins, refusal)


def find_unfinished_rebuild(conn: Connection) -> UUID | None:
    """Return the rebuild that has not ended."""
    return chore_records.find_unfinished(conn, chore_records.REBUILD_INDEX)


def prepare(
    client: OpenSearch,
    base: str,
    pool: Pool,
    chore: Chore,
    *,
    tombstone_days: int,
    made_by: Sequence[str] = (),
) -> Effect:
    """Do the next step outside every transaction; return the commit of its effect.

    `made_by` names the stages that a full one has every entry pass first.
    """
    site = _Site(chore, client, base, pool, tombstone_days, made_by)
    phase = site.came.get("phase", "create")
    if phase not in _BEFORE_THE_INDEX:
        indices = aliases.look(client, base)
        if site.name not in {indices.write, indices.read}:
            # Somebody has deleted it, or put another in its place.
            log.warning("rebuild_begins_again", index=site.name, phase=phase)
            return lambda _: Progress({"phase": "create"}, 0, chore.total)
    return PHASES[phase](site)


def _read(site: _Site) -> Effect:
    """Derive data anew, before documents are made of it."""
    return derived_data.renew_page(site.pool, site.chore, site.knowledge)


def _reading(site: _Site) -> Effect:
    return lambda conn: (
        site.waits()
        if derived_data.is_left(conn, site.came)
        else site.goes_on("create", after=None)
    )


def _create(site: _Site) -> Effect:
    with connection(site.pool) as conn:
        if derived_data.is_under_way(conn):
            # Asked for by itself: first that, then the index.
            return lambda _: replace(
                site.goes_on("create"), wait_seconds=chore_records.LOOK_SECONDS
            )
    fill_index.ensure_filled(site.client, site.base, site.pool)
    for name in aliases.look(site.client, site.base).bare:
        if name != site.name and aliases.is_left_over(site.base, name):
            aliases.delete(site.client, name)
    aliases.make(site.client, site.name)
    total = index_repair.count(site.pool)
    begun = {"phase": "open", "rounds": 0, "healed": 0}
    return lambda _: Progress(begun, 0, total)


def _open(site: _Site) -> Effect:
    found = aliases.look(site.client, site.base)
    if site.name not in {found.write, *found.bare}:
        return lambda _: Progress({"phase": "create"}, 0, site.chore.total)
    aliases.write_to(site.client, found, site.name)

    def commit(conn: Connection) -> Progress:
        return site.goes_on("wait", moved_at=chore_records.read_clock(conn).isoformat())

    return commit


def _wait(site: _Site) -> Effect:
    def commit(conn: Connection) -> Progress:
        moved_at = datetime.fromisoformat(site.came["moved_at"])
        values = {"stage": INDEX_STAGE, "moved_at": moved_at}
        if fetch_value(conn, _EARLIER_CLAIMS, values):
            return site.waits()
        last = fetch_value(conn, _LAST)
        until = last and str(last)
        return site.goes_on("copy" if until else "settle", after=None, until=until)

    return commit


def _copy(site: _Site) -> Effect:
    page = _page(site)
    refused: list[UUID] = []
    tenants: dict[UUID, str] = {row.id: row.tenant for row in page}
    for tenant, ids in portions.cut(page, most=_LOADED_AT_ONCE):
        with connection(site.pool) as conn:
            found = documents.load(conn, tenant, ids)
        errors = bulk.write(site.client, mapping.write_alias(site.base), found)
        for entry_id, error in errors.items():
            if error.retriable:
                raise error
            refused.append(entry_id)
    for entry_id in refused:
        # Its own stage quarantines it, alone and with the reason.
        with connection(site.pool) as conn:
            tenant = tenants[entry_id]
            due.add(conn, tenant, [entry_id], [INDEX_STAGE], work_class=due.BULK)
    done = site.chore.done + len(page)
    total = max(site.chore.total or 0, done)
    is_last = len(page) < STEP_ENTRIES
    went = {"phase": "settle"} if is_last else {"after": str(page[-1].id)}
    return lambda _: Progress({**site.came, **went}, done, total)


def _settle(site: _Site) -> Effect:
    aliases.go_live(site.client, site.name)
    return lambda _: site.goes_on("compare", walk=None, differing=0)


def _compare(site: _Site) -> Effect:
    found = compare_index.look(site.sides, site.came["walk"])
    index_repair.remove(site.sides, found)
    make_last_due = index_repair.make_due_but_last(site.pool, found)
    differing = site.came["differing"] + len(found.differ) + len(found.extra)

    def commit(conn: Connection) -> Progress:
        make_last_due(conn)
        if found.goes_on is not None:
            return site.goes_on("compare", walk=found.goes_on, differing=differing)
        log.info("rebuild_compared", index=site.name, differing=differing)
        if not differing:
            return site.goes_on("sample")
        rounds = site.came["rounds"] + 1
        healed = site.came["healed"] + differing
        if rounds >= MAX_ROUNDS:
            raise InternalError(technical=f"{differing} differ after {rounds} rounds")
        marked = chore_records.read_clock(conn).isoformat()
        return site.goes_on("drain", marked_at=marked, rounds=rounds, healed=healed)

    return commit


def _drain(site: _Site) -> Effect:
    """Wait until the due entries are written to both indices, then compare again."""
    marked_at = datetime.fromisoformat(site.came["marked_at"])
    return lambda conn: (
        site.waits()
        if backlog.is_left(conn, INDEX_STAGE, marked_at)
        else site.goes_on("compare", walk=None, differing=0)
    )


def _sample(site: _Site) -> Effect:
    """Ask for entries by their own words before anybody else does."""
    missed = sample_searches.missed(site.sides, random.SystemRandom())
    if missed:
        # It was written, and is not found: the mapping is wrong, not the entry.
        raise InternalError(technical=f"not found by their words: {missed[:5]}")
    return lambda _: site.goes_on("swap")


def _swap(site: _Site) -> Effect:
    found = aliases.look(site.client, site.base)
    aliases.write_to(site.client, found, site.name)
    aliases.search_in(site.client, found, site.name)
    log.warning("index_swapped", index=site.name, old=found.read)
    return lambda _: replace(site.goes_on("drop"), wait_seconds=DRAIN_SECONDS)


def _drop(site: _Site) -> Effect:
    for name in aliases.look(site.client, site.base).bare:
        aliases.delete(site.client, name)
    done = site.chore.done
    result = {
        "index": site.name,
        "entries": done,
        "rounds": site.came["rounds"],
        "healed": site.came["healed"],
        # As the last round found it, before the swap.
        "differing": 0,
    }
    return lambda _: Progress(None, done, total=done, result=result)


PHASES: dict[str, Callable[[_Site], Effect]] = {
    "read": _read,
    "reading": _reading,
    "create": _create,
    "open": _open,
    "wait": _wait,
    "copy": _copy,
    "settle": _settle,
    "compare": _compare,
    "drain": _drain,
    "sample": _sample,
    "swap": _swap,
    "drop": _drop,
}


def _page(site: _Site) -> list[Sized]:
    values = {
        "after": site.came.get("after"),
        "until": site.came.get("until"),
        "limit": STEP_ENTRIES,
        "tombstone_days": site.tombstone_days,
    }
    with connection(site.pool) as conn:
        return fetch_all(conn, Sized, _PAGE, values)
