"""What is stored of a page's entries, and which of its drafts are news."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from typing import LiteralString, NamedTuple, Self
from uuid import UUID

from psycopg import Connection

from shared.entries import tombstones
from shared.entries.draft import EntryDraft

Identity = tuple[str, str]

# A number of more digits is a hash that happens to have no letter.
_MAX_DIGITS = 18

_COLUMNS: LiteralString = """
    SELECT e.id, e.source, e.external_id, e.revision, e.content_hash, e.access_hash,
           e.entry_time, e.deleted_at IS NOT NULL, e.delete_reason, e.version,
           e.source_modified_at, e.stamp, e.parsed_by, e.missing_since IS NOT NULL,
           e.thread_id, e.thread_key, e.readers, e.visible_from, e.logbooks"""
_KNOWN: LiteralString = f"""{_COLUMNS}
      FROM json_array_elements(%(identities)s::json) AS asked
      JOIN entry e ON e.source = asked ->> 0 AND e.external_id = asked ->> 1
     WHERE e.tenant = %(tenant)s"""
# No key is changed, and a stronger lock would wait for whoever refers to the entry
# while they wait for its due work, which comes after it.
_LOCKED: LiteralString = f"""{_COLUMNS}
      FROM entry e
     WHERE e.tenant = %(tenant)s AND e.id = ANY(%(ids)s)
     ORDER BY e.id
       FOR NO KEY UPDATE"""


class EntryFingerprint(NamedTuple):
    """The stored values that decide whether a draft is news."""

    id: UUID
    source: str
    external_id: str
    revision: int
    content_hash: bytes
    aside_hash: bytes
    entry_time: datetime
    deleted: bool
    delete_reason: str | None
    version: str | None
    modified_at: datetime | None
    stamp: str | None
    parsed_by: int | None
    missing: bool
    thread_id: UUID | None
    thread_key: str | None
    readers: list[str] | None = None
    visible_from: datetime | None = None
    logbooks: Sequence[str] = ()

    def is_shown_as(self, draft: EntryDraft) -> bool:
        """Tell whether the draft keeps readers, embargo and logbooks as they are."""
        ours, theirs = self.readers, draft.readers
        if (ours is None) != (theirs is None) or {*(ours or ())} != {*(theirs or ())}:
            return False
        if self.visible_from != draft.visible_from:
            return False
        return {*self.logbooks} == {*draft.logbooks}


class Step(IntEnum):
    """How much of an entry a draft changes."""

    NOTHING = 0
    # What nobody reads: the source's own version and stamp.
    FACTS = 1
    # The row and the document, not the revision: readers, address, origin.
    ASIDE = 2
    REVISION = 3


@dataclass(frozen=True, slots=True)
class News:
    """A draft whose time is known, and its hashes."""

    identity: Identity
    draft: EntryDraft
    fields: str
    content_hash: bytes
    aside_hash: bytes

    @classmethod
    def of(cls, draft: EntryDraft, entry_time: datetime) -> Self:
        """Return the draft as it would be stored, at this time if it has none."""
        whole = draft.at(entry_time)
        return cls(whole.identity, whole, *whole.hashed())

    def step(self, row: EntryFingerprint) -> Step:
        """Return how much is changed by it; an older delivery changes nothing."""
        if row.deleted and row.delete_reason in tombstones.FINAL:
            return Step.NOTHING
        if _compare_age(self.draft, row) < 0:
            return Step.NOTHING
        if row.deleted or self.content_hash != row.content_hash:
            return Step.REVISION
        if self.aside_hash != row.aside_hash:
            return Step.ASIDE
        return Step.FACTS if row.missing or self._has_new_facts(row) else Step.NOTHING

    def _has_new_facts(self, row: EntryFingerprint) -> bool:
        draft = self.draft
        return (
            draft.stamp not in {None, row.stamp}
            or draft.parsed_by not in {None, row.parsed_by}
            or draft.version not in {None, row.version}
            or draft.modified_at not in {None, row.modified_at}
        )


def find(
    conn: Connection, tenant: str, identities: Iterable[Identity]
) -> dict[Identity, EntryFingerprint]:
    """Return the stored fingerprints of these identities, tombstones included."""
    # The driver needs five times as long for an array of texts.
    values = {"tenant": tenant, "identities": json.dumps(list(identities))}
    # As they are in the wire's own form: five hundred rows are read in half the time.
    with conn.cursor(binary=True) as cur:
        rows = cur.execute(_KNOWN, values).fetchall()
    return {(row[1], row[2]): EntryFingerprint._make(row) for row in rows}


def lock(
    conn: Connection, tenant: str, ids: Iterable[UUID]
) -> dict[Identity, EntryFingerprint]:
    """Lock these entries until the transaction ends; return their fingerprints."""
    values = {"tenant": tenant, "ids": sorted(ids)}
    with conn.cursor(binary=True) as cur:
        rows = cur.execute(_LOCKED, values).fetchall()
    return {(row[1], row[2]): EntryFingerprint._make(row) for row in rows}


def is_newer(draft: EntryDraft, row: EntryFingerprint) -> bool:
    """Tell whether the source itself says that a draft is newer than what is here."""
    return _compare_age(draft, row) > 0


def _compare_age(draft: EntryDraft, row: EntryFingerprint) -> int:
    """Return 1 if the source says by its count, else its clock, that a draft is newer.

    -1: it is older; 0: the source does not say, or they are of one age.
    """
    ours, theirs = _number(row.version), _number(draft.version)
    if ours is not None and theirs is not None:
        return (theirs > ours) - (theirs < ours)
    before, now = row.modified_at, draft.modified_at
    if before is None or now is None:
        return 0
    return (now > before) - (now < before)


def _number(version: str | None) -> int | None:
    if version is None or len(version) > _MAX_DIGITS or not version.isascii():
        return None
    return int(version) if version.isdigit() else None
