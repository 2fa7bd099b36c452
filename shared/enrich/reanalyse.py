"""What another analyser has read is read anew: in steps, behind everything live.

A release or the facility's file may change what a text comes to, and what is known of
its entry, and so may what its source or tenant says of its texts; each row of
`entry_text` says which analyser made it, each of `entry_finding` by which rules and
lists. What an older release read has no place among its like yet.
A stage that is new, or of another version, looks at what it has not looked at.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, LiteralString
from uuid import UUID

from psycopg import Connection

from shared.enrich import entry_facts
from shared.log import get_logger
from shared.messaging.stage_names import DUPLICATES_STAGE, METADATA_STAGE
from shared.postgres.fetch_rows import fetch_all
from shared.postgres.pool import Pool, connection
from shared.settings.settings import Settings
from shared.settings.text_expectations import find_expectations
from shared.stages.installed_stages import Stage
from shared.text.analysis import analyser
from shared.text.facility.facility import Facility
from shared.work import backlog
from shared.work.backlog import Named
from shared.work.chore_records import Progress

log = get_logger()

STEP_ENTRIES = 1000
# In the cursor of the chore and in its result: by what all entries were looked at.
READ_BY = "read_by"

# What waits will be read by this analyser, and what was quarantined is known.
_PAGE: LiteralString = """
    SELECT e.id AS entry_id, e.tenant, t.entry_id IS NOT NULL AS has_words,
           t.entry_id IS NOT NULL
           AND (t.analyser_version <> %(version)s
            OR NOT EXISTS (SELECT FROM entry_finding f
                            WHERE f.entry_id = t.entry_id AND f.stage = %(stage)s
                              AND f.version = coalesce(
                                  (%(of_sources)s::jsonb ->> e.source)::bigint,
                                  (%(of_tenants)s::jsonb ->> e.tenant)::bigint,
                                  %(facts_version)s))
            OR NOT EXISTS (SELECT FROM likeness l WHERE l.entry_id = t.entry_id))
           AND NOT EXISTS (SELECT FROM work w
                            WHERE w.entry_id = t.entry_id AND w.stage = ANY(%(stages)s))
           AND NOT EXISTS (SELECT FROM quarantine q
                            WHERE q.entry_id = t.entry_id
                              AND q.stage = ANY(%(stages)s))
           AND e.deleted_at IS NULL AS is_older
      FROM entry e
      LEFT JOIN entry_text t ON t.entry_id = e.id
     WHERE %(after)s::uuid IS NULL OR e.id > %(after)s
     ORDER BY e.id
     LIMIT %(limit)s"""

# For each stage: the entries of this page that its present version has not read.
_LACKING: LiteralString = """
    SELECT s.stage, e.tenant, e.id
      FROM unnest(%(stages)s::text[], %(versions)s::bigint[]) WITH ORDINALITY
           AS s (stage, version, place)
     CROSS JOIN entry e
     WHERE e.id = ANY(%(entry_ids)s) AND e.deleted_at IS NULL
       AND NOT EXISTS (SELECT FROM entry_finding f
                        WHERE f.entry_id = e.id AND f.stage = s.stage
                          AND f.version = s.version)
       AND NOT EXISTS (SELECT FROM work w
                        WHERE w.entry_id = e.id AND w.stage = s.stage)
       AND NOT EXISTS (SELECT FROM quarantine q
                        WHERE q.entry_id = e.id AND q.stage = s.stage)
     ORDER BY s.place, e.id
     LIMIT 100000"""


@dataclass(frozen=True, slots=True)
class _AnalysedRow:
    entry_id: UUID
    tenant: str
    has_words: bool
    is_older: bool


def read_by(facility: Facility) -> str:
    """Return the version of the analyser together with that of the facility's lists."""
    return f"{analyser.version_of(facility)}.{entry_facts.version_of(facility)}"


def prepare(
    pool: Pool,
    settings: Settings,
    cursor: Mapping[str, Any] | None,
    done: int,
    facility: Facility,
    finders: Sequence[Stage] = (),
) -> Callable[[Connection], Progress]:
    """Look at one page; return the commit that makes its outdated entries due."""
    came = cursor or {"after": None, "made_due": 0, READ_BY: read_by(facility)}
    given = {
        "version": analyser.version_of(facility),
        **_facts_versions(settings, facility),
        "stage": METADATA_STAGE,
        "stages": [METADATA_STAGE, DUPLICATES_STAGE],
        "after": came["after"],
        "limit": STEP_ENTRIES,
    }
    with connection(pool) as conn:
        page = fetch_all(conn, _AnalysedRow, _PAGE, given)
        read = [row.entry_id for row in page if row.has_words]
        lacking = _lacking(conn, read, finders)
    older = [(row.tenant, row.entry_id) for row in page if row.is_older]
    wanted = {METADATA_STAGE: older, **lacking}
    # In the order in which a page of new entries makes them due.
    make_last_due = backlog.add_but_last(pool, wanted)

    def commit(conn: Connection) -> Progress:
        make_last_due(conn)
        made_due = came["made_due"] + sum(map(len, wanted.values()))
        if len(page) < STEP_ENTRIES:
            log.info("texts_renewed", entries=done + len(page), made_due=made_due)
            return Progress(None, done + len(page), total=done + len(page))
        went = {**came, "after": str(page[-1].entry_id), "made_due": made_due}
        return Progress(went, done + len(page))

    return commit


def _facts_versions(settings: Settings, facility: Facility) -> dict[str, Any]:
    """Return the facts version of each source, of each tenant, and of all others."""
    other = {
        "of_sources": {
            one: find_expectations(settings, one, "") for one in settings.sources
        },
        "of_tenants": {
            one: find_expectations(settings, "", one) for one in settings.tenants
        },
    }
    versions = {
        name: json.dumps(
            {one: entry_facts.version_of(facility, how) for one, how in by}
        )
        for name, listed in other.items()
        for by in [sorted(listed.items())]
    }
    rest = entry_facts.version_of(facility, find_expectations(settings, "", ""))
    return {**versions, "facts_version": rest}


def _lacking(
    conn: Connection, entry_ids: Sequence[UUID], finders: Sequence[Stage]
) -> dict[str, list[Named]]:
    """Return the entries of the page that each stage has yet to read, by stage."""
    found: dict[str, list[Named]] = {}
    if not finders or not entry_ids:
        return found
    given = {
        "stages": [one.descriptor.name for one in finders],
        "versions": [one.version for one in finders],
        "entry_ids": entry_ids,
    }
    for stage, tenant, entry_id in conn.execute(_LACKING, given):
        found.setdefault(stage, []).append((tenant, entry_id))
    return found
