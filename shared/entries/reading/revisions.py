"""What an entry was: each change of its content is a revision, kept as it came."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, LiteralString
from uuid import UUID

from psycopg import Connection

from shared import entry_fields
from shared.entries.reading.read_entries import EntryView
from shared.postgres.fetch_rows import fetch_all, fetch_one

# Two long texts that have nothing in common take a time that grows with the square.
_MAX_DIFF_LINES = 2000

_OF_ENTRY: LiteralString = """
    SELECT r.number, r.title, r.text, r.text_format, r.fields, r.content_hash,
           r.editor, r.seen_at
      FROM revision r
     WHERE r.tenant = %(tenant)s AND r.entry_id = %(entry_id)s"""
_ONE: LiteralString = _OF_ENTRY + " AND r.number = %(number)s"
_ALL: LiteralString = f"""{_OF_ENTRY}
       AND r.number <= %(number)s
     ORDER BY r.number DESC
     LIMIT %(limit)s"""

# What a revision keeps of an entry's fields, as they are shown.
_PLAIN = ("kind", "metadata", "reply_to")
_LISTS = ("authors", "logbooks", "tags")
_TIMES = ("entry_time", "event_time")


@dataclass(frozen=True, slots=True)
class Revision:
    """One state of an entry's content."""

    number: int
    title: str
    text: str
    text_format: str
    fields: dict[str, Any]
    content_hash: bytes
    editor: str
    seen_at: datetime

    @property
    def whole(self) -> str:
        """Return title and text as one, to be compared."""
        return f"{self.title}\n\n{self.text}" if self.title else self.text


def at(conn: Connection, tenant: str, entry_id: UUID, number: int) -> Revision | None:
    """Return one revision of an entry that the caller may read, or None."""
    values = {"tenant": tenant, "entry_id": entry_id, "number": number}
    return fetch_one(conn, Revision, _ONE, values)


def until(
    conn: Connection, tenant: str, entry_id: UUID, number: int, *, limit: int
) -> list[Revision]:
    """Return revisions from this one back, newest first."""
    values = {"tenant": tenant, "entry_id": entry_id, "number": number, "limit": limit}
    return fetch_all(conn, Revision, _ALL, values)


def as_it_was(entry: EntryView, revision: Revision) -> EntryView:
    """Return the entry with the content of one of its revisions."""
    fields = revision.fields
    changes: dict[str, Any] = {name: fields[name] for name in _PLAIN if name in fields}
    changes |= {name: fields.get(name) for name in entry_fields.NAMES}
    changes |= {name: list(fields.get(name) or ()) for name in _LISTS}
    for name in _TIMES:
        if value := fields.get(name):
            changes[name] = datetime.fromisoformat(value)
    return replace(
        entry,
        revision=revision.number,
        title=revision.title,
        text=revision.text,
        text_chars=len(revision.text),
        text_format=revision.text_format,
        content_hash=revision.content_hash,
        read_flags=[],
        **changes,
    )


def difference(older: Revision | None, newer: Revision) -> str:
    """Return a unified diff of title and text; a first revision is all additions."""
    before = [] if older is None else _lines(older.whole)
    after = _lines(newer.whole)
    found = difflib.unified_diff(
        before,
        after,
        f"r{older.number if older else 0}",
        f"r{newer.number}",
        lineterm="",
    )
    return "\n".join(found)


def _lines(text: str) -> Sequence[str]:
    return text.splitlines()[:_MAX_DIFF_LINES]
