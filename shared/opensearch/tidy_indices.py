"""What a rebuild that was given up has left, and what an older release has made."""

from datetime import timedelta

from opensearchpy import OpenSearch

from shared.log import get_logger
from shared.opensearch import aliases, fill_index, rebuild
from shared.opensearch.aliases import Indices
from shared.postgres.pool import Pool, connection
from shared.work import chore_records
from shared.work.chore_records import REBUILD_INDEX, RECONCILE_INDEX

log = get_logger()

_AGAIN = timedelta(hours=1)


def tidy(client: OpenSearch, base: str, pool: Pool) -> None:
    """Take back what a rebuild that was given up has left; else do nothing."""
    found = aliases.look(client, base)
    if not _is_untidy(found):
        return
    with connection(pool) as conn:
        # Looked at after the indices: what they hold is of no chore to come.
        if rebuild.find_unfinished_rebuild(conn) is not None:
            return
        last = chore_records.last_of(conn, REBUILD_INDEX)
        # One that was given up is not begun again and again.
        now = chore_records.read_clock(conn)
        is_long_ago = last is None or now - last.created_at > _AGAIN
        if found.older and is_long_ago:
            log.warning("index_is_older", index=found.write)
            chore_records.open_chore(conn, REBUILD_INDEX)
            return
        if found.read is None and found.write is not None:
            if not aliases.is_of_rebuild(base, found.write):
                if not fill_index.is_filled(conn):
                    return
            else:
                # What it lacks, being half a copy, is found by a comparison.
                chore_records.start_over(conn, RECONCILE_INDEX)
    _take_back(client, found)


def _is_untidy(found: Indices) -> bool:
    return (
        found.read != found.write
        or bool(found.older)
        or any(aliases.is_left_over(found.base, name) for name in found.bare)
    )


def _take_back(client: OpenSearch, found: Indices) -> None:
    if found.read is None:
        if found.write is not None:
            # The old one is lost: what there is of the new one is better than none.
            aliases.go_live(client, found.write)
            aliases.search_in(client, found, found.write)
    elif found.write != found.read:
        log.warning("rebuild_taken_back", index=found.write)
        aliases.write_to(client, found, found.read)
        if found.write is not None:
            aliases.delete(client, found.write)
    for name in found.bare:
        if aliases.is_left_over(found.base, name):
            aliases.delete(client, name)
