"""What a source says of one entry, before it is stored; and its two hashes."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from shared.entries.adapter import RawItem
from shared.entries.incoming import AttachmentRef

KINDS = (
    "logbook",
    "shift_summary",
    "procedure",
    "maintenance",
    "incident",
    "device",
    "attachment",
    "ops_memory",
)


@dataclass(frozen=True, slots=True)
class EntryDraft:
    """One entry as it was admitted; text is kept exactly as received."""

    source: str
    external_id: str
    text: str
    title: str = ""
    text_format: str = "plain"
    authors: tuple[str, ...] = ()
    logbooks: tuple[str, ...] = ()
    # None: the time that is already stored, else now.
    entry_time: datetime | None = None
    event_time: datetime | None = None
    kind: str = "logbook"
    shift: str | None = None
    level: str | None = None
    category: str | None = None
    tags: tuple[str, ...] = ()
    metadata: dict[str, Any] = field(default_factory=dict)
    reply_to: str | None = None
    url: str | None = None
    readers: tuple[str, ...] | None = None
    visible_from: datetime | None = None
    origin: str = "human"
    flags: tuple[str, ...] = ()
    text_flags: tuple[str, ...] = ()
    # What follows only a source knows; whoever pushes leaves it out.
    version: str | None = None
    modified_at: datetime | None = None
    editor: str | None = None
    language: str | None = None
    thread_key: str | None = None
    supersedes: str | None = None
    related: tuple[str, ...] = ()
    attachments: tuple[AttachmentRef, ...] = ()
    stamp: str | None = None
    # None: it was pushed, no adapter has read it.
    parsed_by: int | None = None
    raw: RawItem | None = None

    @property
    def identity(self) -> tuple[str, str]:
        """Return what is unique within a tenant, exact as received."""
        return self.source, self.external_id

    def at(self, entry_time: datetime) -> EntryDraft:
        """Return the draft with a time, if it came without one."""
        return self if self.entry_time else replace(self, entry_time=entry_time)

    def fields(self) -> dict[str, Any]:
        """Return what a revision keeps beside title and text."""
        return {
            "authors": self.authors,
            "logbooks": self.logbooks,
            "entry_time": _iso(self.entry_time),
            "event_time": _iso(self.event_time),
            "kind": self.kind,
            "shift": self.shift,
            "level": self.level,
            "category": self.category,
            "tags": self.tags,
            "metadata": self.metadata,
            "language": self.language,
            "reply_to": self.reply_to,
            "thread_key": self.thread_key,
            "supersedes": self.supersedes,
            "related": self.related,
            "attachments": [[a.id, a.filename, a.bytes] for a in self.attachments],
        }

    def canonical_fields(self) -> str:
        """Return the fields as the JSON that is stored and hashed."""
        return _canonical(self.fields())

    def content_hash(self, fields: str | None = None) -> bytes:
        """Return what changes exactly when a new revision is due.

        Whoever has the canonical fields already need not have them made again.
        """
        words = (
            f"[{_quoted(self.title)},{_quoted(self.text)},{_quoted(self.text_format)}]"
        )
        return _hash(words + (self.canonical_fields() if fields is None else fields))

    def aside_hash(self) -> bytes:
        """Return what changes when the row changes and the revision does not.

        Who may read it, where it is shown, who wrote it (person or machine), and what
        was noticed about it.
        """
        shown = f"[{_quoted(self.origin)},{_quoted(self.url or '')}"
        if self.readers is not None or self.visible_from is not None:
            readers = None if self.readers is None else sorted(self.readers)
            shown += _canonical([readers, _iso(self.visible_from)])
        if self.flags or self.text_flags:
            shown += _canonical([self.flags, self.text_flags])
        return _hash(shown)


def _iso(value: datetime | None) -> str | None:
    return value.astimezone(UTC).isoformat() if value else None


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


# Made once: `json.dumps` makes one anew at each call with options.
_canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode
# A string as canonical JSON, five times as fast as by an encoder.
_quoted = json.encoder.encode_basestring_ascii
