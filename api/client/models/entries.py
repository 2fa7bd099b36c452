"""What the API tells of entries, made from its OpenAPI document."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import Field

from api.client.models.model import Model


class AttachmentList(Model):
    """The files of one entry, in its own order."""

    items: list[AttachmentOut]
    inline: list[InlinePicture]
    next_cursor: None = None


class AttachmentOut(Model):
    """A file beside an entry."""

    attachment_id: str
    filename: str
    media_type: str | None
    declared_type: str | None
    bytes: int | None
    sha256: str | None
    caption: str | None
    text_extracted: bool
    state: str
    url: str | None
    error: dict[str, Any] | None
    thumbnail: str | None


class ChangeOut(Model):
    """An entry that is not as it was."""

    change: str
    entry_id: str
    source_uri: str
    revision: int
    changed_at: datetime
    entry: EntryOut | None


class ChangePage(Model):
    """Changes in an order without gaps, and where to go on."""

    items: list[ChangeOut]
    cut: TextsCut
    next_after: str


class DigestItem(Model):
    """An entry, in words of its own."""

    entry_id: str
    revision: int
    permalink: str
    source: str
    title: str
    authors: list[str]
    entry_time: datetime
    text: str
    state: str | None
    quote: str | None
    is_new: bool


class DigestSections(Model):
    """Each entry stands in one section."""

    handover: list[DigestItem]
    open: list[DigestItem]
    resolved: list[DigestItem]
    locks: list[DigestItem]
    devices: list[NamedDevice]
    new: list[DigestItem]


class Entity(Model):
    """A device that the text names, and where."""

    kind: str
    name: str
    canonical: str


class EntryOut(Model):
    """One entry, as received, with what was made of it."""

    entry_id: str
    source: str
    external_id: str
    source_uri: str
    permalink: str
    url: str | None
    kind: str
    logbooks: list[str]
    authors: list[str]
    title: str
    text: str
    text_format: str
    entry_time: datetime
    event_time: datetime | None
    modified_at: datetime
    received_at: datetime
    shift: str | None
    level: str | None
    category: str | None
    tags: list[str]
    metadata: dict[str, Any]
    entities: list[Entity]
    thread_id: str | None
    reply_to: str | None
    links: list[dict[str, Any]]
    attachments: list[AttachmentOut]
    language: str | None
    summary: str | None
    keywords: list[str]
    revision: int
    content_hash: str
    deleted: bool
    text_flags: list[str]
    stages: dict[str, str]
    skipped: dict[str, str] | None = None
    origin: str
    source_removed: bool
    readers: list[str] | None
    visible_from: datetime | None
    flags: list[str]
    findings: dict[str, list[dict[str, Any]]] | None = None
    cut: TextsCut | None = None


class EntryPage(Model):
    """One page of entries, and how many there are in all."""

    items: list[EntryOut]
    cut: TextsCut
    next_cursor: str | None
    total: int


class InlinePicture(Model):
    """A picture that the text shows, and the file that it is."""

    src: str
    attachment_id: str


class NamedDevice(Model):
    """A device, and the entries that name it."""

    device: str
    count: int
    entry_ids: list[str]


class PushedEntries(Model):
    """What became of many entries."""

    items: list[PushedItem]
    counts: dict[str, int]
    indexed: bool | None = None


class PushedEntry(Model):
    """What became of one entry."""

    entry_id: str
    source_uri: str
    revision: int
    status: str
    indexed: bool | None = None


class PushedItem(Model):
    """What became of one entry of many, in input order."""

    index: int
    status: str
    entry_id: str | None = None
    source_uri: str | None = None
    revision: int | None = None
    error: dict[str, Any] | None = None


class RevisionOut(Model):
    """One state of an entry's content, and what it changed."""

    revision: int
    content_hash: str
    editor: str
    seen_at: datetime
    diff: str


class RevisionPage(Model):
    """Revisions, newest first."""

    items: list[RevisionOut]
    next_cursor: str | None


class ShiftDigest(Model):
    """What was written since a shift began, and what stands open from before."""

    from_: datetime = Field(alias="from")
    to: datetime
    sections: DigestSections
    complete: bool


class TextsCut(Model):
    """How many texts were cut, and by how many characters in all."""

    entries: int
    chars: int


class ThreadLink(Model):
    """A tie to another entry that this one does not answer."""

    kind: str
    entry_id: str


class ThreadOut(Model):
    """Entries that belong together, oldest first, and what answers what."""

    thread_id: str | None
    title: str
    state: str
    entries: list[EntryOut]
    cut: TextsCut
    tree: list[TreeNode]
    timeline: list[TimelineStep]
    timeline_complete: bool
    complete: bool


class TimelineStep(Model):
    """One step of an incident, in the words of an entry."""

    time: datetime
    step: str
    entry_id: str
    quote: str
    time_from: str


class TreeNode(Model):
    """One entry in its place, behind what it answers."""

    entry_id: str
    parent_id: str | None
    depth: int
    links: list[ThreadLink]
