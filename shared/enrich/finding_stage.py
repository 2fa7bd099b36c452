"""A stage that finds things, run on entries: what it reads, found, and kept.

A revision, or a chore, makes it due; it runs only where what it reads, or the stage
itself, is another than when it last ran.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, LiteralString
from uuid import UUID

from psycopg import Connection

from shared.enrich import findings
from shared.enrich.findings import StageFindings
from shared.entries.reading.read_entries import Content
from shared.errors import InternalError
from shared.messaging.stage_names import METADATA_STAGE
from shared.postgres.fetch_rows import fetch_all
from shared.stages.installed_stages import Stage
from shared.stages.stage_contract import FACILITY, StageDescriptor, StageInput
from shared.text.facility.facility import PLAIN
from shared.work import due_work as due

_LAST: LiteralString = """
    SELECT f.entry_id, f.revision, f.version, f.inputs, f.words
      FROM entry_finding f
     WHERE f.tenant = %(tenant)s AND f.stage = %(stage)s
       AND f.entry_id = ANY(%(entry_ids)s)
     LIMIT 1000"""

# What it read is in the newer revision as it was.
_STILL: LiteralString = """
    UPDATE entry_finding f SET revision = s.revision
      FROM unnest(%(entry_ids)s::uuid[], %(revisions)s::integer[])
           AS s (entry_id, revision)
     WHERE f.entry_id = s.entry_id AND f.stage = %(stage)s AND f.tenant = %(tenant)s
       AND f.revision < s.revision"""

# What is purged meanwhile takes its findings along; and whoever holds the entries has
# their findings alone, in whichever order they are written.
_THERE: LiteralString = """
    SELECT id FROM entry
     WHERE id = ANY(%(entry_ids)s) AND tenant = %(tenant)s
     ORDER BY id
       FOR NO KEY UPDATE"""


@dataclass(frozen=True, slots=True)
class Last:
    """The inputs and version that a stage last read in an entry."""

    entry_id: UUID
    revision: int
    version: int
    inputs: bytes
    words: str


@dataclass(frozen=True, slots=True)
class Finding:
    """The findings of a stage in one revision; None: its inputs have not changed."""

    inputs: bytes
    found: list[dict[str, Any]] | None
    # What of it is searched; and whether the search is told so already.
    words: str
    is_searched: bool


def last(
    conn: Connection, tenant: str, stage: str, entry_ids: Sequence[UUID]
) -> dict[UUID, Last]:
    """Return the last reading of these entries by a stage, by entry."""
    given = {"tenant": tenant, "stage": stage, "entry_ids": list(entry_ids)}
    found = fetch_all(conn, Last, _LAST, given, prepare=False)
    return {row.entry_id: row for row in found}


def find(stage: Stage, content: Content, before: Last | None) -> Finding:
    """Run a stage on an entry; skip it if version and inputs are those of last time."""
    fields = _fields(stage, content)
    inputs = _digest(fields)
    if before and (before.version, before.inputs) == (stage.version, inputs):
        known = not before.words or before.revision == content.revision
        return Finding(inputs, None, before.words, is_searched=known)
    one = stage.descriptor
    facility = stage.facility if FACILITY in one.reads else PLAIN
    found = []
    for item in (
        one.find(StageInput(fields, stage.options, facility)) if one.find else ()
    ):
        if one.finds is None or not isinstance(item, one.finds):
            told = f"{one.name} found a {type(item).__name__}, which it does not name"
            raise InternalError(technical=told)
        # Made in a way that skipped its model, it is checked.
        checked = type(item).model_validate(item.model_dump())
        found.append(checked.model_dump(mode="json"))
    if len(json.dumps(found)) > stage.max_bytes:
        told = f"{one.name} found more than {stage.max_bytes} bytes in one entry"
        raise InternalError(technical=told)
    words = "\n".join(_words(one, found))
    same = before is not None and before.revision == content.revision
    known = words == (before.words if before is not None and same else "")
    return Finding(inputs, found, words, is_searched=known)


def store(
    conn: Connection,
    tenant: str,
    stage: Stage,
    found: Iterable[tuple[Content, Finding]],
    *,
    work_class: int = due.LIVE,
) -> None:
    """Keep what a stage found; idempotent, and nothing older replaces it.

    Words that are searched make their entry be read once more.
    """
    by_id = {content.entry_id: (content, finding) for content, finding in found}
    key = {"tenant": tenant, "entry_ids": sorted(by_id)}
    there = [
        by_id[one] for (one,) in conn.execute(_THERE, key, prepare=False).fetchall()
    ]
    name = stage.descriptor.name
    still = [content for content, finding in there if finding.found is None]
    if still:
        known = {
            "tenant": tenant,
            "stage": name,
            "entry_ids": [content.entry_id for content in still],
            "revisions": [content.revision for content in still],
        }
        conn.execute(_STILL, known, prepare=False)
    told = [
        StageFindings(
            content.entry_id,
            content.revision,
            stage.version,
            finding.inputs,
            terms=(),
            found=finding.found,
            words=finding.words,
        )
        for content, finding in there
        if finding.found is not None
    ]
    findings.store(conn, tenant, name, told)
    unsearched = [
        content.entry_id for content, finding in there if not finding.is_searched
    ]
    due.add(conn, tenant, unsearched, [METADATA_STAGE], work_class=work_class)


def _words(one: StageDescriptor, found: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield the searchable words of the findings, each text once."""
    seen: set[str] = set()
    for item in found:
        for name in one.searched:
            value = item[name]
            for said in value if isinstance(value, list) else [value]:
                if isinstance(said, str) and said not in seen:
                    seen.add(said)
                    yield said


def _fields(stage: Stage, content: Content) -> dict[str, Any]:
    """Return the fields of an entry that the stage has declared to read."""
    renamed = {
        "original": content.marked or content.text,
        "language": content.said_language,
    }
    return {
        name: renamed[name] if name in renamed else getattr(content, name)
        for name in stage.descriptor.reads
        if name != FACILITY
    }


def _digest(fields: Mapping[str, Any]) -> bytes:
    def plain(value: object) -> str:
        # A moment is the same in every zone.
        return repr(value.timestamp()) if isinstance(value, datetime) else str(value)

    said = json.dumps(fields, sort_keys=True, default=plain)
    return hashlib.sha256(said.encode()).digest()
