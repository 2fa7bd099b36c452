"""What is derived of entries in Postgres, made anew: texts read, vectors made.

All of it is due behind everything live; what there is is searched until then. First
this, then the index: a full rebuild begins with it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, LiteralString
from uuid import UUID

from psycopg import Connection

from shared.messaging.stage_names import METADATA_STAGE
from shared.postgres.pool import Pool, connection
from shared.settings.settings import Settings
from shared.stages import installed_stages, stage_versions
from shared.work import backlog, chore_records
from shared.work.backlog import Named
from shared.work.chore_records import REBUILD_KNOWLEDGE, Chore, Effect, Progress

STEP_ENTRIES = 1000
WAIT_SECONDS = 1.0
# How a chore begins that has all of it made anew.
BEGINS: dict[str, Any] = {"phase": "read"}
_MADE = (METADATA_STAGE, "embed")

_PAGE: LiteralString = """
    SELECT e.tenant, e.id FROM entry e
     WHERE (%(after)s::uuid IS NULL OR e.id > %(after)s) AND e.deleted_at IS NULL
     ORDER BY e.id
     LIMIT %(limit)s"""
# Else what a model would read the same again keeps its vectors. In the order in which
# whoever makes them notes what they are of.
_FORGET_INPUTS: LiteralString = """
    WITH these AS MATERIALIZED (
        SELECT i.entry_id, i.model FROM embedding_input i
         WHERE i.tenant = %(tenant)s AND i.entry_id = ANY(%(ids)s)
         ORDER BY i.entry_id, i.model
           FOR UPDATE)
    DELETE FROM embedding_input i USING these
     WHERE i.tenant = %(tenant)s AND i.entry_id = these.entry_id
       AND i.model = these.model"""


def ask(conn: Connection) -> UUID:
    """Make the chore due, and return its id; refuse if one is under way."""
    refusal = "What is derived of entries is being made anew already."
    return chore_records.ask(conn, REBUILD_KNOWLEDGE, BEGINS, refusal)


def stages(pool: Pool, settings: Settings) -> list[str]:
    """Return the names of the due work that derives data, for all models in use."""
    made = [
        one
        for one in installed_stages.list_enabled_stages(settings)
        if one.name in _MADE
    ]
    with connection(pool) as conn:
        return stage_versions.row_names(conn, settings, made)


def prepare(pool: Pool, settings: Settings, chore: Chore) -> Effect:
    """Do the next step of the chore: a page, or a check whether all is done."""
    came = chore.cursor or BEGINS
    if came["phase"] == "read":
        return renew_page(pool, chore, stages(pool, settings))

    def look(conn: Connection) -> Progress:
        if is_left(conn, came):
            return Progress(came, chore.done, chore.done, wait_seconds=WAIT_SECONDS)
        result = {"entries": chore.done, "stages": came["stages"]}
        return Progress(None, chore.done, total=chore.done, result=result)

    return look


def renew_page(pool: Pool, chore: Chore, made_by: Sequence[str]) -> Effect:
    """Make a page of entries due for these stages; the last page ends the phase."""
    came = chore.cursor or BEGINS
    given = {"after": came.get("after"), "limit": STEP_ENTRIES}
    with connection(pool) as conn:
        page = conn.execute(_PAGE, given).fetchall()
    named = [(tenant, entry_id) for tenant, entry_id in page]
    _forget_inputs(pool, named)
    make_last_due = backlog.add_but_last(pool, dict.fromkeys(sorted(made_by), named))

    def commit(conn: Connection) -> Progress:
        make_last_due(conn)
        went = Progress({**came}, chore.done + len(page), chore.total)
        if len(page) == STEP_ENTRIES:
            return replace(went, cursor={**came, "after": str(page[-1][1])})
        marked_at = chore_records.read_clock(conn).isoformat()
        ended = {"phase": "reading", "marked_at": marked_at, "stages": [*made_by]}
        return replace(went, cursor={**came, **ended})

    return commit


def _forget_inputs(pool: Pool, named: Sequence[Named]) -> None:
    for tenant, ids in backlog.ids_by_tenant(named):
        with connection(pool) as conn:
            conn.execute(_FORGET_INPUTS, {"tenant": tenant, "ids": ids})


def is_left(conn: Connection, came: Mapping[str, Any]) -> bool:
    """Tell whether work that the chore made due is still to be done."""
    marked_at = datetime.fromisoformat(came["marked_at"])
    # A release that made no vectors anew has named none.
    made_by = came.get("stages", [METADATA_STAGE])
    return any(backlog.is_left(conn, stage, marked_at) for stage in made_by)


def is_under_way(conn: Connection) -> bool:
    """Tell whether derived data is being made anew: the index waits for it."""
    return chore_records.find_unfinished(conn, REBUILD_KNOWLEDGE) is not None
