"""From an entry as its adapter read it to a draft: mended, bounded, told apart."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from itertools import chain
from operator import attrgetter
from typing import Any
from urllib.parse import quote

from shared import entry_fields
from shared.adapter_contract.contract import RawItem
from shared.adapter_contract.entry import KINDS, AttachmentRef, Entry
from shared.entries import entry_url
from shared.entries.draft import FUTURE, EntryDraft
from shared.errors import MalformedEntryError
from shared.settings.settings import Settings
from shared.settings.source_sections import SourceSettings
from shared.text import decoding, door
from shared.times.rfc3339 import FIRST_YEAR, LAST_YEAR

_FORMATS = frozenset({"plain", "html", "markdown", "elcode", "textile"})


# The fields of an entry that are texts, and those that hold several.
_SINGLE = (
    *("external_id", "title", "text", "text_format", "version", "editor"),
    *(*entry_fields.NAMES, "kind", "language"),
    *("reply_to", "supersedes", "thread_key", "url"),
)
_SEVERAL = ("authors", "logbooks", "tags", "readers", "related", "flags")
_singles, _severals = attrgetter(*_SINGLE), attrgetter(*_SEVERAL)


@dataclass(slots=True)
class PullRules:
    """The limits and rules for every entry that is pulled from a source."""

    _settings: Settings
    _name: str
    _source: SourceSettings
    _version: int

    def draft(self, entry: Entry, raw: RawItem, *, now: datetime) -> EntryDraft:
        """Return the draft of one entry; what cannot be stored costs itself."""
        mended, repaired = _mend(entry)
        self._check(mended)
        flags = dict.fromkeys(mended.flags)
        metadata, overflow = self._metadata(mended)
        tags = mended.tags[: self._settings.max_tags]
        if overflow or len(tags) < len(mended.tags):
            flags["metadata_overflow"] = None
        assert mended.entry_time is not None
        if mended.entry_time > now + FUTURE:
            flags["time_in_future"] = None
        if repaired:
            flags["repaired"] = None
        title = mended.title[: self._settings.max_title_chars]
        if len(title) < len(mended.title):
            # Nothing is lost: what the title had too much stands before the text.
            mended = replace(mended, text=f"{mended.title}\n\n{mended.text}")
        text_flags = door.text_flags(f"{title}\n{mended.text}")
        if "repaired" in flags:
            text_flags = (*text_flags, "repaired")
        return EntryDraft(
            source=self._name,
            external_id=mended.external_id,
            title=title,
            text=mended.text,
            text_format=mended.text_format,
            authors=mended.authors,
            logbooks=mended.logbooks,
            entry_time=mended.entry_time,
            event_time=mended.event_time,
            kind=mended.kind,
            **mended.field_values(),
            tags=tags,
            metadata=metadata,
            reply_to=_other(mended.reply_to, mended.external_id),
            url=self._url_of(mended),
            readers=mended.readers,
            visible_from=mended.visible_from,
            origin=mended.origin or self._origin_of(mended),
            flags=tuple(flags),
            text_flags=text_flags,
            version=mended.version,
            modified_at=mended.modified_at,
            editor=mended.editor,
            language=mended.language,
            thread_key=mended.thread_key,
            supersedes=_other(mended.supersedes, mended.external_id),
            related=tuple(
                one for one in mended.related if _other(one, mended.external_id)
            ),
            attachments=mended.attachments
            if self._source.attachments != "none"
            else (),
            stamp=raw.stamp,
            parsed_by=self._version,
            raw=raw if self._source.keep_raw else None,
            is_anew=raw.is_anew,
        )

    def _check(self, entry: Entry) -> None:
        most = self._settings.max_external_id_chars
        if not 1 <= len(entry.external_id) <= most:
            message = (
                f"Its id has {len(entry.external_id)} characters, not 1 to {most}."
            )
            raise MalformedEntryError(message, reason="external_id")
        if entry.text_format not in _FORMATS or entry.kind not in KINDS:
            message = f"{entry.text_format} {entry.kind} is no format and kind of text."
            raise MalformedEntryError(message, reason="unexpected_shape")
        if not entry.title.strip() and not entry.text.strip():
            raise MalformedEntryError(
                "It has neither a title nor a text.", reason="empty_entry"
            )
        for time in (entry.entry_time, entry.event_time, entry.modified_at):
            if time is not None and not FIRST_YEAR <= time.year <= LAST_YEAR:
                years = f"the years {FIRST_YEAR} to {LAST_YEAR}"
                message = f"A time of it lies outside {years}."
                raise MalformedEntryError(message, reason="time_out_of_range")
        if entry.entry_time is None:
            raise MalformedEntryError(
                "It does not say when it was written.", reason="time_missing"
            )
        size = len(entry.text.encode()) + len(entry.title.encode())
        if size > self._settings.max_entry_bytes:
            message = (
                f"It has {size} bytes; {self._settings.max_entry_bytes} are allowed."
            )
            raise MalformedEntryError(message, reason="too_large")

    def _metadata(self, entry: Entry) -> tuple[dict[str, Any], bool]:
        most = self._settings.max_metadata_keys
        kept = {
            key: value if isinstance(value, str) else _as_text(value)
            for key, value in list(entry.metadata.items())[:most]
        }
        size = 0
        for place, (key, value) in enumerate(kept.items()):
            size += len(key) + len(value)
            if size > self._settings.max_entry_bytes:
                return dict(list(kept.items())[:place]), True
        return kept, len(kept) < len(entry.metadata)

    def _url_of(self, entry: Entry) -> str | None:
        if entry.url and entry_url.is_safe(entry.url):
            return entry.url
        template = self._source.entry_url_template
        if template is None:
            return None
        return template.replace("{external_id}", quote(entry.external_id, safe=""))

    def _origin_of(self, entry: Entry) -> str:
        rules = self._source.machine_when
        if rules and all(
            _pattern(pattern).search(_field(entry, name))
            for name, pattern in rules.items()
        ):
            return "machine"
        return self._source.origin


@cache
def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text)


def _field(entry: Entry, name: str) -> str:
    """Return a field as the text that a rule looks at."""
    value = entry.metadata.get(name) if name in entry.metadata else None
    if value is None and name in {"author", "authors"}:
        value = ", ".join(entry.authors)
    elif value is None:
        value = getattr(entry, name, None)
    if isinstance(value, tuple):
        return ", ".join(str(one) for one in value)
    return "" if value is None else str(value)[:10_000]


def _other(external_id: str | None, own: str) -> str | None:
    """Return whom it refers to; nobody, zero and itself are no reference."""
    return None if external_id in {None, "", "0", own} else external_id


def _mend(entry: Entry) -> tuple[Entry, bool]:
    """Return the entry with every text storable, and whether anything was replaced."""
    if _is_clean(entry):
        return entry, False
    changes: dict[str, Any] = {}
    for name in Entry.__dataclass_fields__:
        value = getattr(entry, name)
        if isinstance(value, str | tuple | dict) and value:
            mended = _mended(value)
            if mended is not value:
                changes[name] = mended
    return (replace(entry, **changes), True) if changes else (entry, False)


def _is_clean(entry: Entry) -> bool:
    """Tell at one look that nothing needs to be mended, as of nearly every entry."""
    if entry.attachments:
        return False
    single, several = filter(None, _singles(entry)), filter(None, _severals(entry))
    metadata = entry.metadata
    try:
        whole = "\n".join(chain(single, *several, metadata, metadata.values()))
    except TypeError:
        # Something in it is no text: it is looked at one by one.
        return False
    if "\x00" in whole:
        return False
    try:
        return whole.isascii() or bool(whole.encode())
    except UnicodeEncodeError:
        return False


def _mended(value: Any) -> Any:
    """Return the value itself where it is clean, else one that is."""
    if isinstance(value, str):
        text, repaired = decoding.mend(value)
        return text if repaired else value
    if isinstance(value, AttachmentRef):
        filename, caption = _mended(value.filename), _mended(value.caption)
        if filename is value.filename and caption is value.caption:
            return value
        return replace(value, filename=filename, caption=caption)
    if isinstance(value, tuple):
        items = tuple(_mended(one) for one in value)
        same = all(new is old for new, old in zip(items, value, strict=True))
        return value if same else items
    if isinstance(value, Mapping):
        pairs = [(str(key), one) for key, one in value.items()]
        clean = [(_mended(key), _mended(one)) for key, one in pairs]
        same = all(
            a is c and b is d for (a, b), (c, d) in zip(clean, pairs, strict=True)
        )
        return value if same else dict(clean)
    return value


def _as_text(value: Any) -> str:
    return "" if value is None else json.dumps(value, ensure_ascii=False, default=str)
