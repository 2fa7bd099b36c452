"""What a source says of one entry, before it is stored; and its two hashes."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

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
            "authors": list(self.authors),
            "logbooks": list(self.logbooks),
            "entry_time": _iso(self.entry_time),
            "event_time": _iso(self.event_time),
            "kind": self.kind,
            "shift": self.shift,
            "level": self.level,
            "category": self.category,
            "tags": list(self.tags),
            "metadata": self.metadata,
            "reply_to": self.reply_to,
            "url": self.url,
            "origin": self.origin,
        }

    def content_hash(self) -> bytes:
        """Return what changes exactly when a new revision is due."""
        whole = [self.title, self.text, self.text_format, self.fields()]
        return _hash(whole)

    def access_hash(self) -> bytes:
        """Return what changes when only who may read it has changed."""
        readers = None if self.readers is None else sorted(self.readers)
        return _hash([readers, _iso(self.visible_from)])


def _iso(value: datetime | None) -> str | None:
    return value.astimezone(UTC).isoformat() if value else None


def _hash(value: Any) -> bytes:
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).digest()
