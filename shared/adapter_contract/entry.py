"""An entry as an adapter has read it: its own facility's words, before the door."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, get_args

from shared.entry_fields import EntryFields, Kind

TextFormat = Literal["plain", "html", "markdown", "elcode", "textile"]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True, slots=True)
class AttachmentRef:
    """A file that belongs to an entry; `id` names it within the entry."""

    id: str
    filename: str
    url: str | None = None
    declared_type: str | None = None
    bytes: int | None = None
    caption: str | None = None
    thumbnail_url: str | None = None


@dataclass(frozen=True, slots=True)
class Entry(EntryFields):
    """One entry; names and texts are the source's own, times are aware UTC.

    Only `external_id` and `entry_time` are required; of a deleted one, only the id.
    """

    external_id: str
    entry_time: datetime | None
    title: str = ""
    text: str = ""
    text_format: TextFormat = "plain"
    # The source's own revision, as it counts them; an older one is dropped.
    version: str | None = None
    event_time: datetime | None = None
    modified_at: datetime | None = None
    authors: tuple[str, ...] = ()
    editor: str | None = None
    logbooks: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    kind: str = "logbook"
    # People and groups as the source names them; None: every reader of the logbook.
    readers: tuple[str, ...] | None = None
    visible_from: datetime | None = None
    # None: the source's rule says.
    origin: Literal["human", "machine"] | None = None
    # Only where the source says it.
    language: str | None = None
    # External ids of the same source.
    reply_to: str | None = None
    supersedes: str | None = None
    related: tuple[str, ...] = ()
    # The same key, the same thread, without a direction.
    thread_key: str | None = None
    attachments: tuple[AttachmentRef, ...] = ()
    metadata: dict[str, Any] = field(default_factory=dict)
    url: str | None = None
    # A tombstone: the other fields may be empty.
    deleted: bool = False
    # What whoever reads it is told: time_ambiguous, time_nonexistent, no_zone,
    # repaired, charset_guess, truncated_by_source; the runtime adds time_in_future,
    # metadata_overflow and metadata_failed.
    flags: tuple[str, ...] = ()
