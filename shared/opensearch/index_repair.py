"""Bring the index to what Postgres says: what differs is due, the rest goes.

Tombstones that are old enough go, too: nothing is on its way any more that they would
keep from bringing an entry back.
"""

from collections.abc import Callable, Mapping
from typing import Any

from opensearchpy import OpenSearch
from psycopg import Connection

from shared.entries.reading import entry_counts
from shared.log import get_logger
from shared.messaging.stage_names import INDEX_STAGE
from shared.opensearch import aliases, compare_index, erase, mapping
from shared.opensearch.compare_index import Differences, Sides
from shared.postgres.pool import Pool, connection
from shared.work import backlog
from shared.work.chore_records import Chore, Effect, Progress

log = get_logger()

# One that an older release has begun knows of no old tombstones.
_BEGIN: Mapping[str, Any] = {"walk": None, "made_due": 0, "removed": 0, "purged": 0}


def prepare(
    client: OpenSearch, base: str, pool: Pool, chore: Chore, *, tombstone_days: int
) -> Effect:
    """Compare the next part outside every transaction; return the commit of it."""
    came: dict[str, Any] = {**_BEGIN, **(chore.cursor or {})}
    total = count(pool) if chore.total is None else chore.total
    # During a rebuild there are two: the searched one is compared, if there is one yet.
    is_searched = aliases.look(client, base).read is not None
    alias = mapping.read_alias(base) if is_searched else mapping.write_alias(base)
    sides = Sides(client, alias, pool, tombstone_days)
    found = compare_index.look(sides, came["walk"])
    remove(sides, found)
    make_last_due = make_due_but_last(pool, found)
    made_due = came["made_due"] + len(found.differ)
    gone = {
        "removed": came["removed"] + len(found.extra),
        "purged": came["purged"] + len(found.past),
    }
    seen = chore.done + found.seen

    def commit(conn: Connection) -> Progress:
        make_last_due(conn)
        if found.goes_on is None:
            came_to = {"entries": seen, "differing": made_due, **gone}
            log.info("index_reconciled", **came_to)
            return Progress(None, seen, total=seen, result=came_to)
        went = {"walk": found.goes_on, "made_due": made_due, **gone}
        return Progress(went, seen, max(total, seen))

    return commit


def count(pool: Pool) -> int:
    """Return about how many entries there are."""
    with connection(pool) as conn:
        return entry_counts.estimate_entries(conn)


def remove(sides: Sides, found: Differences) -> None:
    """Remove documents without an entry from the index, unless written anew since."""
    for entry_id, version in found.extra:
        log.warning("index_left_over", entry_id=str(entry_id))
        erase.remove(
            sides.client, sides.index, entry_id, version + 1, unless_newer=True
        )
    for entry_id, version in found.past:
        # Its source may bring it back at once, with the very next version.
        erase.remove(
            sides.client,
            sides.index,
            entry_id,
            version,
            version_type="external_gte",
            unless_newer=True,
        )


def make_due_but_last(pool: Pool, found: Differences) -> Callable[[Connection], None]:
    """Make differing entries due; return the commit for those of the last tenant."""
    differ = [(row.tenant, row.id) for row in found.differ]
    return backlog.add_but_last(pool, {INDEX_STAGE: differ})
