"""One log of an Olog: which it is, when it was made, and the entry that it says."""

import hashlib
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

from shared.adapter_contract.contract import RawItem
from shared.adapter_contract.entry import AttachmentRef, Entry
from shared.errors import MalformedEntryError
from shared.times import source_times

_GROUP = "Log Entry Group"
_CONTROLS = re.compile(r"[\x00-\x1f\x7f]")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def parse_log(raw: RawItem, api: str) -> Entry:
    """Return the entry of one log; its owner is its editor once it was edited."""
    log, first_owner = _log_of(raw.payload)
    created = _time(log.get("createdDate"), "createdDate")
    modified = log.get("modifyDate")
    owner, source = _text(log, "owner"), _text(log, "source")
    author = first_owner or owner
    event_time, events = _events(log)
    properties, group = _properties(log)
    return Entry(
        external_id=raw.external_id,
        entry_time=created.at,
        title=_text(log, "title"),
        text=source if source.strip() else _text(log, "description"),
        text_format="markdown" if source.strip() else "plain",
        event_time=event_time,
        modified_at=None if modified is None else _time(modified, "modifyDate").at,
        authors=(author,) if author else (),
        editor=owner if modified is not None and owner else None,
        logbooks=_names(log, "logbooks"),
        tags=_names(log, "tags"),
        level=_text(log, "level") or None,
        thread_key=group,
        attachments=_attachments(log, raw.external_id, api),
        metadata={**properties, **events, **_state(log)},
        flags=created.flags,
    )


def identity(log: Any) -> str:
    """Return the log's number, or a hash of whatever has none."""
    number = log.get("id") if isinstance(log, dict) else None
    if isinstance(number, int | str) and not isinstance(number, bool) and number != "":
        return str(number)
    canonical = json.dumps(log, sort_keys=True, ensure_ascii=True)
    return f"sha256:{hashlib.sha256(canonical.encode()).hexdigest()[:32]}"


def created_ms(log: Any) -> int | None:
    """Return when a log was created, where it says so in one of the known ways."""
    if not isinstance(log, dict):
        return None
    try:
        return epoch_ms(_time(log.get("createdDate"), "createdDate").at)
    except MalformedEntryError:
        return None


def first_owner(answer: Any, number: str) -> str | None:
    """Return who wrote a log, of what the archive answers for its number.

    It answers ten versions at most, of every log whose number begins so; the first
    version of a log is the one that nobody had modified.
    """
    versions = answer.get("logs") if isinstance(answer, dict) else answer
    for one in versions if isinstance(versions, list) else ():
        if isinstance(one, dict) and one.get("modifyDate") is None:
            owner = one.get("owner")
            if identity(one) == number and isinstance(owner, str) and owner:
                return owner
    return None


def moment(ms: int) -> datetime:
    """Return a number of the wire as a time."""
    return _EPOCH + timedelta(milliseconds=ms)


def epoch_ms(at: datetime) -> int:
    """Return a time as a number of the wire."""
    return (at - _EPOCH) // timedelta(milliseconds=1)


def quoted(part: str) -> str:
    """Return a part of a path; half a surrogate pair names nothing anyway."""
    return quote(part, safe="", errors="replace")


def _log_of(payload: Any) -> tuple[Mapping[str, Any], str]:
    """Return the log, and its first owner where it was asked for."""
    if isinstance(payload, bytes | str):
        try:
            payload = json.loads(payload)
        except (ValueError, RecursionError) as exc:
            raise _malformed("it is no JSON", "not_json") from exc
    if not isinstance(payload, dict):
        raise _malformed("it is no object")
    log = payload.get("log")
    if isinstance(log, dict) and "createdDate" not in payload:
        return log, _text(payload, "first_owner")
    return payload, ""


def _time(value: Any, name: str) -> source_times.Moment:
    """Read epoch milliseconds, or the older `seconds.nanoseconds`."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise _malformed(f"`{name}` is no time", "time_unreadable")
    if isinstance(value, int):
        return source_times.parse_source_time(value, zone=None, unit="ms")
    if isinstance(value, str) and value.strip().lstrip("-").isdecimal():
        return source_times.parse_source_time(value, zone=None)
    return source_times.parse_source_time(value, zone=None, unit="s")


def _events(log: Mapping[str, Any]) -> tuple[datetime | None, dict[str, str]]:
    """Return when it happened, and every event by its name."""
    first: datetime | None = None
    named: dict[str, str] = {}
    for event in _objects(log, "events"):
        at = _time(event.get("instant"), "instant").at
        first = first or at
        named[f"event.{_text(event, 'name')}"] = at.isoformat()
    return first, named


def _properties(log: Mapping[str, Any]) -> tuple[dict[str, str], str | None]:
    """Return properties as metadata, and the thread that one of them names."""
    found: dict[str, str] = {}
    group: str | None = None
    for prop in _objects(log, "properties"):
        name = _text(prop, "name")
        for attribute in _objects(prop, "attributes"):
            key, value = _text(attribute, "name"), _text(attribute, "value")
            if name == _GROUP and key == "id":
                group = value or None
            elif key:
                found[f"{name}.{key}"] = value
    return found, group


def _state(log: Mapping[str, Any]) -> dict[str, str]:
    state = _text(log, "state")
    return {"state": state} if state and state != "Active" else {}


def _names(log: Mapping[str, Any], key: str) -> tuple[str, ...]:
    names = (_text(item, "name") for item in _objects(log, key))
    return tuple(dict.fromkeys(name for name in names if name))


def _objects(parent: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    found = parent.get(key)
    if found is None:
        return []
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise _malformed(f"`{key}` is no list of objects")
    return found


def _text(parent: Mapping[str, Any], key: str) -> str:
    value = parent.get(key)
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _malformed(f"`{key}` is no text")
    return json.dumps(value)


def _attachments(
    log: Mapping[str, Any], external_id: str, api: str
) -> tuple[AttachmentRef, ...]:
    found = []
    for item in _objects(log, "attachments"):
        filename, number = _text(item, "filename"), _text(item, "id")
        shown = _CONTROLS.sub("_", filename)
        declared = _text(item, "fileMetadataDescription")
        if number:
            path = f"attachment/{quoted(number)}"
        else:
            path = f"logs/attachments/{quoted(external_id)}/{quoted(filename)}"
        found.append(
            AttachmentRef(
                id=number or filename,
                filename=shown or number,
                url=f"{api}/{path}",
                declared_type=declared if "/" in declared else None,
            )
        )
    return tuple(one for one in found if one.id)


def _malformed(what: str, reason: str = "unexpected_shape") -> MalformedEntryError:
    return MalformedEntryError(f"The log cannot be read: {what}.", reason=reason)
