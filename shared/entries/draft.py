"""What a source says of one entry, before it is stored; and its two hashes."""

import hashlib
import json
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, Self, TypeVar

from shared.adapter_contract.contract import RawItem
from shared.adapter_contract.entry import AttachmentRef
from shared.adapter_contract.payload_codec import pack
from shared.entry_fields import FIELDS, EntryFields
from shared.text import plain_text

T = TypeVar("T")

# Whoever writes of later has a clock that goes wrong, or a year.
FUTURE = timedelta(days=1)


class Hashed(NamedTuple):
    """The fields as they are stored, and the two hashes of a draft."""

    fields: str
    content: bytes
    aside: bytes


@dataclass(frozen=True, slots=True)
class EntryDraft(EntryFields):
    """One entry as it was admitted; text is kept exactly as received.

    What is made of it costs more than all its statements, so that it is made once, and
    by `prepare` before the transaction that needs it.
    """

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
    # Its source has not touched it; other settings read it otherwise.
    is_anew: bool = False
    _hashed: Hashed | None = field(default=None, init=False, repr=False, compare=False)
    # None: not made yet; of a text without markup it is the text.
    _plain: str | None = field(default=None, init=False, repr=False, compare=False)
    _packed: bytes | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def identity(self) -> tuple[str, str]:
        """Return source and external id as received; unique within a tenant."""
        return self.source, self.external_id

    def at(self, entry_time: datetime) -> Self:
        """Return the draft with this time as its entry time, if it came without one."""
        if self.entry_time:
            return self
        timed = replace(self, entry_time=entry_time)
        # Its hashes are others; text and payload are the same.
        timed._keep("_plain", self._plain)  # noqa: SLF001 - another of us
        timed._keep("_packed", self._packed)  # noqa: SLF001
        return timed

    def prepare(self) -> Self:
        """Compute text, payload and hashes before the transaction needs them."""
        if self.entry_time:
            self.hashed()
        self.plain()
        self.packed()
        return self

    def hashed(self) -> Hashed:
        """Return the stored fields and the hashes."""
        if self._hashed is None:
            fields = self.canonical_fields()
            made = Hashed(fields, self.content_hash(fields), self.aside_hash())
            return self._keep("_hashed", made)
        return self._hashed

    def plain(self) -> str:
        """Return the text without its markup."""
        if self._plain is None:
            return self._keep(
                "_plain", plain_text.to_plain(self.text, self.text_format)
            )
        return self._plain

    def packed(self) -> bytes | None:
        """Return the payload as it is kept, if there is one."""
        if self._packed is None and self.raw is not None:
            return self._keep("_packed", pack(self.raw.payload))
        return self._packed

    def canonical_fields(self) -> str:
        """Return the fields beside title and text as JSON, as stored and hashed.

        Its keys are in order, without blanks. A change of this format makes a new
        revision of every entry.
        """
        values = {
            "attachments": [[a.id, a.filename, a.bytes] for a in self.attachments],
            "authors": self.authors,
            "entry_time": _iso(self.entry_time),
            "event_time": _iso(self.event_time),
            "kind": self.kind,
            "language": self.language,
            "logbooks": self.logbooks,
            "metadata": self.metadata,
            "related": self.related,
            "reply_to": self.reply_to,
            "supersedes": self.supersedes,
            "tags": self.tags,
            "thread_key": self.thread_key,
        }
        for name, always_hashed in FIELDS:
            value = getattr(self, name)
            if always_hashed or value is not None:
                values[name] = value
        return _canonical(values)

    def content_hash(self, fields: str | None = None) -> bytes:
        """Return the hash of the content; a draft with another hash is a new revision.

        Pass the canonical fields if they are at hand, so that they are not made twice.
        """
        words = (
            f"[{_quoted(self.title)},{_quoted(self.text)},{_quoted(self.text_format)}]"
        )
        return _hash(words + (self.canonical_fields() if fields is None else fields))

    def aside_hash(self) -> bytes:
        """Return the hash of the fields that are updated without a new revision.

        These are: who may read the entry, its address, its origin (human or machine),
        and what was noticed about it.
        """
        shown = f"[{_quoted(self.origin)},{_quoted(self.url or '')}"
        if self.readers is not None or self.visible_from is not None:
            readers = None if self.readers is None else sorted(self.readers)
            shown += _canonical([readers, _iso(self.visible_from)])
        if self.flags or self.text_flags:
            shown += _canonical([self.flags, self.text_flags])
        return _hash(shown)

    def _keep(self, name: str, value: T) -> T:
        """Cache a computed value on the frozen draft."""
        object.__setattr__(self, name, value)
        return value


def _iso(value: datetime | None) -> str | None:
    return value.astimezone(UTC).isoformat() if value else None


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


# Made once: `json.dumps` makes one anew at each call with options.
_canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode
# A string as canonical JSON, five times as fast as by an encoder.
_quoted = json.encoder.encode_basestring_ascii
