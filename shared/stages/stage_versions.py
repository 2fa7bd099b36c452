"""What a stage with a task of its own makes is made anew where the stage has changed.

What finders find says itself by which version; of documents, vectors and groups nothing
does. The chore that looks at every entry keeps the versions that it found last.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, LiteralString
from uuid import UUID

from psycopg import Connection

from shared.log import get_logger
from shared.messaging.stage_names import ATTACHMENTS_STAGE, INDEX_STAGE
from shared.postgres.fetch_rows import fetch_all
from shared.postgres.pool import Pool, connection
from shared.settings.settings import Settings
from shared.stages import installed_stages
from shared.stages.stage_contract import StageDescriptor
from shared.work import backlog, chore_records
from shared.work.backlog import Named
from shared.work.chore_records import Effect, Progress

log = get_logger()

STEP_ENTRIES = 1000
# In the result of the chore, and in its cursor while it walks.
VERSIONS, _WALK = "stage_versions", "stages"
# The version assumed of a stage while none was stored.
_FIRST = 1

# Vectors are those of every model in use: one stage, and a name for each. Before the
# first one there are none that could be made anew, and maybe nobody who makes them.
_ROW_NAMES: LiteralString = """
    SELECT s.name, coalesce('embed:' || m.model, s.row_name)
      FROM unnest(%(names)s::text[], %(row_names)s::text[]) AS s (name, row_name)
      LEFT JOIN embedding_model m ON m.active AND starts_with(s.row_name, 'embed:')
     WHERE m.model IS NOT NULL OR NOT starts_with(s.row_name, 'embed:')
     ORDER BY 1, 2
     LIMIT 1000"""
_LAST: LiteralString = "SELECT id FROM entry ORDER BY id DESC LIMIT 1"
# What waits is done by this version, and what was quarantined is known.
_PAGE: LiteralString = """
    SELECT e.id AS entry_id, e.tenant, ARRAY(
               SELECT s.stage FROM unnest(%(stages)s::text[]) AS s (stage)
                WHERE e.deleted_at IS NULL
                  AND NOT EXISTS (SELECT FROM work w
                                   WHERE w.entry_id = e.id AND w.stage = s.stage
                                     AND w.claim IS NULL)
                  AND NOT EXISTS (SELECT FROM quarantine q
                                   WHERE q.entry_id = e.id AND q.stage = s.stage)
                  AND (s.stage <> %(of_files)s
                       OR EXISTS (SELECT FROM attachment a
                                   WHERE a.entry_id = e.id AND a.state = 'stored'))
               ) AS stages
      FROM entry e
     WHERE (%(after)s::uuid IS NULL OR e.id > %(after)s) AND e.id <= %(until)s
     ORDER BY e.id
     LIMIT %(limit)s"""
# A document of the version that the index holds would be refused.
_SHOW_ANEW: LiteralString = """
    WITH shown AS MATERIALIZED (
        SELECT id FROM entry
         WHERE tenant = %(tenant)s AND id = ANY(%(ids)s)
         ORDER BY id
           FOR NO KEY UPDATE)
    UPDATE entry e SET doc_version = e.doc_version + 1
      FROM shown
     WHERE e.id = shown.id AND e.tenant = %(tenant)s"""


@dataclass(frozen=True, slots=True)
class _VersionRow:
    entry_id: UUID
    tenant: str
    stages: list[str]


def is_begun(cursor: Mapping[str, Any]) -> bool:
    """Tell whether the chore has begun its walk over versions."""
    return _WALK in cursor


def begin(conn: Connection, settings: Settings) -> dict[str, Any]:
    """Return the part of the cursor that begins the walk over changed stages."""
    now = {
        one.name: one.version
        for one in installed_stages.list_enabled_stages(settings)
        if one.find is None
    }
    last = chore_records.find_last_done(conn, chore_records.RENEW_TEXTS)
    told: dict[str, int] = (last.result or {}).get(VERSIONS, {}) if last else now
    changed = [name for name in now if told.get(name, _FIRST) != now[name]]
    found = conn.execute(_LAST).fetchone()
    return {
        _WALK: {
            "changed": changed if found else [],
            # One that is off is walked once it is on again.
            "versions": {**told, **now},
            "after": None,
            "until": str(found[0]) if found else None,
            "made_due": 0,
        }
    }


def row_names(
    conn: Connection, settings: Settings, stages: Sequence[StageDescriptor]
) -> list[str]:
    """Return the names of due work of these stages, for every model in use."""
    named = {
        "names": [one.name for one in stages],
        "row_names": [one.row_of(settings) for one in stages],
    }
    return [stage for _, stage in conn.execute(_ROW_NAMES, named)]


def prepare(
    pool: Pool,
    settings: Settings,
    cursor: Mapping[str, Any],
    done: int,
    result: Mapping[str, Any],
) -> Effect:
    """Look at one page; return what makes due what an older version has made there."""
    walk = cursor[_WALK]
    ended = {**result, VERSIONS: walk["versions"]}
    if not walk["changed"]:
        return lambda _: Progress(None, done, total=done, result=ended)
    page = _page(pool, settings, walk)
    wanted: dict[str, list[Named]] = {}
    for row in page:
        for stage in row.stages:
            wanted.setdefault(stage, []).append((row.tenant, row.entry_id))
    if INDEX_STAGE in wanted:
        _show_anew(pool, wanted[INDEX_STAGE])
    make_last_due = backlog.add_but_last(pool, dict(sorted(wanted.items())))

    def commit(conn: Connection) -> Progress:
        make_last_due(conn)
        made_due = walk["made_due"] + sum(map(len, wanted.values()))
        if len(page) < STEP_ENTRIES:
            changed = walk["changed"]
            log.info("stages_renewed", stages=changed, made_due=made_due)
            return Progress(None, done, total=done, result=ended)
        went = {**walk, "after": str(page[-1].entry_id), "made_due": made_due}
        return Progress({**cursor, _WALK: went}, done)

    return commit


def _page(pool: Pool, settings: Settings, walk: Mapping[str, Any]) -> list[_VersionRow]:
    changed = [
        one
        for one in installed_stages.list_enabled_stages(settings)
        if one.name in walk["changed"]
    ]
    with connection(pool) as conn:
        given = {
            "stages": row_names(conn, settings, changed),
            "of_files": ATTACHMENTS_STAGE,
            "after": walk["after"],
            "until": walk["until"],
            "limit": STEP_ENTRIES,
        }
        return fetch_all(conn, _VersionRow, _PAGE, given)


def _show_anew(pool: Pool, named: Sequence[Named]) -> None:
    """Give documents a newer version, a commit a tenant; twice is no worse."""
    for tenant, ids in backlog.ids_by_tenant(named):
        with connection(pool) as conn:
            conn.execute(_SHOW_ANEW, {"tenant": tenant, "ids": ids})
