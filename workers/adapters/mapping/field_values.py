"""How a single value of a foreign record is read: each kind of field has its way."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from typing import Any, Literal, NoReturn
from urllib.parse import unquote, urljoin, urlsplit

from shared.adapter_contract.entry import KINDS, AttachmentRef, TextFormat
from shared.errors import MalformedEntryError

_FORMATS: Mapping[str, TextFormat] = {
    "commonmark": "markdown",
    "elcode": "elcode",
    "html": "html",
    "markdown": "markdown",
    "md": "markdown",
    "plain": "plain",
    "text": "plain",
    "text/html": "html",
    "text/markdown": "markdown",
    "text/plain": "plain",
    "textile": "textile",
}
_NO = frozenset(("", "0", "f", "false", "n", "no", "none", "null"))
_NO_PARENT = frozenset(("", "0"))
_URLS = ("url", "href", "path", "link")
_NAMES = ("filename", "fileName", "name", "title")
_TYPES = ("declared_type", "type", "mime_type", "contentType")
_SIZES = ("bytes", "size")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class Parts(tuple[Any, ...]):
    """The values that several places give for one field that is a list."""

    __slots__ = ()


def malformed(reason: str, message: str) -> NoReturn:
    """Refuse an item with a reason and a message."""
    raise MalformedEntryError(message, reason=reason)


def plain(value: Any) -> str:
    """Return any value as text; lists and objects as JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bool | dict | list | tuple):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    return value.isoformat() if isinstance(value, date) else str(value)


def hash_id(record: Any, otherwise: bytes = b"") -> str:
    """Return an id for a record without one: a hash of its canonical form (AD-20).

    Nesting and numbers beyond all bounds have none: `otherwise` is hashed instead.
    """
    if not isinstance(record, bytes):
        try:
            text = json.dumps(
                record, sort_keys=True, separators=(",", ":"), default=str
            )
            record = text.encode()
        except (RecursionError, ValueError):
            record = otherwise
    return f"sha256:{hashlib.sha256(record).hexdigest()[:32]}"


def text(value: Any) -> str:
    """Return a text or a number as text; anything deeper is no text."""
    if type(value) is str:
        return value
    if isinstance(value, dict | list | tuple | bytes):
        malformed("wrong_type", f"A {type(value).__name__} stands where text should.")
    return plain(value)


def word(value: Any) -> str | None:
    """Return a name without the blanks around it, or None."""
    return text(value).strip() or None


def parent(value: Any) -> str | None:
    """Return the id of another entry; blank and 0 are none (AD-17)."""
    known = text(value)
    return None if not known or known.strip() in _NO_PARENT else known


def names(value: Any) -> tuple[str, ...] | None:
    """Return people; one text is one of them, whatever commas it holds."""
    if type(value) is str:
        return (known,) if (known := value.strip()) else None
    return many(value, "")


def many(value: Any, separator: str) -> tuple[str, ...] | None:
    """Return the words of a list, or of a text with separators; each of them once."""
    if type(value) is str and (not separator or separator not in value):
        return (only,) if (only := value.strip()) else None
    if isinstance(value, Parts):
        found = (word for part in value for word in many(part, separator) or ())
        return tuple(dict.fromkeys(found)) or None
    if isinstance(value, list | tuple):
        parts = [text(part).strip() for part in value if part is not None]
    else:
        whole = text(value)
        several = whole.split(separator) if separator else (whole,)
        parts = [part.strip() for part in several]
    known = [part for part in parts if part]
    if len(known) > 1:
        return tuple(dict.fromkeys(known))
    return tuple(known) or None


def others(value: Any, separator: str) -> tuple[str, ...] | None:
    """Return the ids of other entries."""
    known = many(value, separator) or ()
    return tuple(each for each in known if each != "0") or None


def readers(value: Any, separator: str) -> tuple[str, ...]:
    """Return who may read; an empty list hides it from everybody (AD-29)."""
    return many(value, separator) or ()


def deleted(value: Any) -> bool:
    """Tell a mark of deletion: true, a word, a number or a time of deletion."""
    return text(value).strip().lower() not in _NO


def kind(value: Any) -> str | None:
    """Return a kind of entry that we know, or None."""
    known = text(value).strip().lower()
    return known if known in KINDS else None


def origin(value: Any) -> Literal["human", "machine"] | None:
    """Return who wrote it, where the source says so in our words."""
    match text(value).strip().lower():
        case "human":
            return "human"
        case "machine":
            return "machine"
    return None


def text_format(value: Any) -> TextFormat | None:
    """Return the markup by its name or media type, or None."""
    return _FORMATS.get(text(value).strip().lower())


def attachments(
    value: Any, base: str | None, separator: str
) -> tuple[AttachmentRef, ...] | None:
    """Return files given as addresses or objects; relative ones lie under `base`."""
    found: list[AttachmentRef] = []
    used: dict[str, int] = {}
    for each in _listed(value, separator):
        if each is None or each == "":
            continue
        ref = _attachment(each, base)
        used[ref.id] = used.get(ref.id, 0) + 1
        if used[ref.id] > 1:
            ref = replace(ref, id=f"{ref.id}#{used[ref.id]}")
        found.append(ref)
    return tuple(found) or None


def absolute(address: str, base: str | None) -> str | None:
    """Return where a file lies, or None where that cannot be told."""
    try:
        whole = urljoin(base, address) if base else address
        parts = urlsplit(whole)
    except ValueError:
        return None
    return whole if parts.scheme in {"http", "https"} and parts.netloc else None


def basename(address: str) -> str:
    """Return the last part of a path or an address, as a person would name it."""
    path = address.split("?", 1)[0].split("#", 1)[0].rstrip("/")
    return unquote(path.replace("\\", "/").rsplit("/", 1)[-1])


def _listed(value: Any, separator: str) -> list[Any]:
    if isinstance(value, Parts):
        return [each for part in value for each in _listed(part, separator)]
    if isinstance(value, str):
        return [part.strip() for part in value.split(separator or "\n")]
    if isinstance(value, dict):
        return [value]
    if not isinstance(value, list | tuple):
        malformed("wrong_type", "Attachments are a list of addresses or of objects.")
    return list(value)


def _attachment(value: Any, base: str | None) -> AttachmentRef:
    if not isinstance(value, dict):
        plainly = text(value)
        name = _on_a_line(basename(plainly) or plainly)
        return AttachmentRef(id=plainly, filename=name, url=absolute(plainly, base))
    return _described(value, base)


def _described(value: dict[str, Any], base: str | None) -> AttachmentRef:
    address = _first(value, _URLS)
    name = _first(value, _NAMES) or (basename(address) if address else None)
    known = _first(value, ("id",)) or address or name
    if not known:
        malformed("wrong_type", "An attachment has neither address nor name.")
    thumbnail = _first(value, ("thumbnail_url", "thumbnail"))
    return AttachmentRef(
        id=known,
        filename=_on_a_line(name or known),
        url=absolute(address, base) if address else None,
        declared_type=_first(value, _TYPES),
        bytes=_size(value),
        caption=_first(value, ("caption", "description")),
        thumbnail_url=absolute(thumbnail, base) if thumbnail else None,
    )


def _on_a_line(name: str) -> str:
    """Return a file's name without what ends a line or a text."""
    return _CONTROL.sub("_", name)


def _first(value: dict[str, Any], keys: tuple[str, ...]) -> str | None:
    for key in keys:
        known = value.get(key)
        if known is not None and (found := text(known)).strip():
            return found
    return None


def _size(value: dict[str, Any]) -> int | None:
    for key in _SIZES:
        known = value.get(key)
        if isinstance(known, int) and not isinstance(known, bool) and known >= 0:
            return known
    return None
