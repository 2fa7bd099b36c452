"""From what a program sent to a draft: every limit and every rule of the contract."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from shared import entry_fields
from shared.entries import entry_url
from shared.entries.draft import FUTURE, EntryDraft
from shared.errors import ConflictError, InvalidRequestError
from shared.ids import uuid7
from shared.settings.settings import Settings
from shared.settings.source_sections import SourceSettings
from shared.text import door
from shared.times import rfc3339

_TIMES = ("entry_time", "event_time", "visible_from")


@dataclass(frozen=True, slots=True)
class PushRules:
    """The limits of entries, and the sources that may be pushed to."""

    settings: Settings

    def draft(self, fields: Mapping[str, Any], path: str) -> EntryDraft:
        """Return the draft of one entry, or raise naming the field that is wrong."""
        settings = self.settings
        name = fields["source"]
        source = settings.sources.get(name)
        if source is None:
            known = ", ".join(sorted(settings.sources)) or "none"
            raise _field(path, "source", "unknown_source", f"is none of: {known}")
        refuse_pulled(settings.sources, name)
        external_id = fields["external_id"]
        self._check_sizes(fields, path)
        supersedes, related = _links(fields["links"], path)
        read = {name: _time(fields, name, source, path) for name in _TIMES}
        flags = {flag: None for _, odd in read.values() for flag in odd}
        entry_time, _ = read["entry_time"]
        if entry_time is not None and entry_time > datetime.now(UTC) + FUTURE:
            flags["time_in_future"] = None
        return EntryDraft(
            source=name,
            external_id=str(uuid7()) if external_id is None else external_id,
            title=fields["title"],
            text=fields["text"],
            text_format=fields["text_format"],
            authors=_one_or_many(fields, "author", "authors", path),
            logbooks=_one_or_many(fields, "logbook", "logbooks", path),
            entry_time=entry_time,
            event_time=read["event_time"][0],
            kind=fields["kind"],
            **{name: fields[name] for name in entry_fields.NAMES},
            tags=tuple(fields["tags"]),
            metadata=fields["metadata"],
            reply_to=fields["reply_to"],
            url=_url(fields["url"], path),
            readers=None if fields["readers"] is None else tuple(fields["readers"]),
            visible_from=read["visible_from"][0],
            origin=fields["origin"] or source.origin,
            flags=tuple(flags),
            text_flags=door.text_flags(f"{fields['title']}\n{fields['text']}"),
            supersedes=supersedes,
            related=related,
        ).prepare()

    def _check_sizes(self, fields: Mapping[str, Any], path: str) -> None:
        settings = self.settings
        size = len(fields["text"].encode()) + len(fields["title"].encode())
        if fields["metadata"]:
            # Every other field has a limit of its own.
            size += len(json.dumps(fields["metadata"], ensure_ascii=False).encode())
        if size > settings.max_entry_bytes:
            message = (
                f"Title, text and metadata of an entry may have"
                f" {settings.max_entry_bytes} bytes."
            )
            raise InvalidRequestError(message, code="body_too_large")
        for name, limit in (
            ("external_id", settings.max_external_id_chars),
            ("title", settings.max_title_chars),
        ):
            if len(fields[name] or "") > limit:
                raise _field(path, name, "too_long", f"may have {limit} characters")
        if len(fields["tags"]) > settings.max_tags:
            raise _field(path, "tags", "too_many", f"may be {settings.max_tags}")
        self._check_metadata(fields["metadata"], path)

    def _check_metadata(self, metadata: dict[str, Any], path: str) -> None:
        keys, depth = _measure(metadata)
        settings = self.settings
        if keys > settings.max_metadata_keys or depth > settings.max_metadata_depth:
            message = (
                f"metadata may have {settings.max_metadata_keys} keys"
                f" and {settings.max_metadata_depth} levels."
            )
            raise InvalidRequestError.field(
                _joined(path, "metadata"),
                "metadata_too_wide",
                message,
                top_code="metadata_too_wide",
            )


def refuse_pulled(sources: Mapping[str, SourceSettings], name: str) -> None:
    """Raise if a source is polled: what is written here would not be in its logbook."""
    source = sources.get(name)
    if source is not None and source.is_pulled:
        message = f"{name} is polled: write in the logbook itself."
        raise ConflictError(message, code="source_is_pull")


def _measure(value: Any) -> tuple[int, int]:
    """Return how many keys there are, at every level, and how many levels."""
    keys = deepest = 0
    waiting = [(value, 1)]
    while waiting:
        item, depth = waiting.pop()
        if not isinstance(item, dict | list):
            continue
        deepest = max(deepest, depth)
        inner = item.values() if isinstance(item, dict) else item
        keys += len(item) if isinstance(item, dict) else 0
        waiting += [(one, depth + 1) for one in inner]
    return keys, deepest


def _one_or_many(
    fields: Mapping[str, Any], one: str, many: str, path: str
) -> tuple[str, ...]:
    single, several = fields[one], fields[many]
    if single is not None and several is not None:
        raise _field(path, one, "given_twice", f"is another name of {many}: give one")
    return (single,) if single is not None else tuple(several or ())


def _url(url: str | None, path: str) -> str | None:
    """Return the address, or refuse one that would run a script when it is opened."""
    if url is None or entry_url.is_safe(url):
        return url
    message = f"{url[:40]!r} is no address of {', '.join(entry_url.SCHEMES)}."
    raise InvalidRequestError.field(
        _joined(path, "url"), "url_not_allowed", message, top_code="url_not_allowed"
    )


def _links(
    given: Sequence[Mapping[str, str]], path: str
) -> tuple[str | None, tuple[str, ...]]:
    """Return the superseded entry, if any, and the related ones in sorted order."""
    old = {one["external_id"] for one in given if one["kind"] == "supersedes"}
    if len(old) > 1:
        raise _field(path, "links", "given_twice", "may supersede one entry")
    related = {one["external_id"] for one in given if one["kind"] == "related"}
    return next(iter(old), None), tuple(sorted(related))


def _time(
    fields: Mapping[str, Any], name: str, source: SourceSettings, path: str
) -> tuple[datetime | None, tuple[str, ...]]:
    """Return a time, and what is to be told of it."""
    text = fields[name]
    if text is None:
        return None, ()
    where = _joined(path, name)
    return rfc3339.read_time(text, where, zone=source.timezone, fold=source.tz_fold)


def _field(path: str, name: str, code: str, what: str) -> InvalidRequestError:
    where = _joined(path, name)
    return InvalidRequestError.field(where, code, f"{where} {what}.")


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
