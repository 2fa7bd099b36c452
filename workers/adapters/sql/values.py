"""Values of any driver become JSON, and come back as what an entry is read from."""

import base64
import binascii
import json
import math
from collections.abc import Collection, Mapping
from datetime import date
from typing import Any

from shared.text import decoding

_BYTES = "base64"


def as_json(value: Any, most: int) -> Any:
    """Return a value as JSON has it; bytes as such, for their charset is not known."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return {_BYTES: base64.b64encode(bytes(value)).decode("ascii")}
    if isinstance(value, date):
        return str(value)
    if isinstance(value, list | tuple):
        return [as_json(one, most) for one in value]
    if isinstance(value, Mapping):
        return {str(key): as_json(one, most) for key, one in value.items()}
    if callable(read := getattr(value, "read", None)):
        # A large object is read while its row is at hand; beyond an entry, cut off.
        return as_json(read(1, most + 1), most)
    return str(value)


def record_of(
    payload: Mapping[Any, Any],
    mapped: Collection[str],
    structured: Collection[str] = (),
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return a row with its bytes as text, and what that needed.

    What is `structured` may be JSON in a column of text.
    """
    record: dict[str, Any] = {}
    flags: dict[str, None] = {}
    for name, value in payload.items():
        if not (isinstance(value, dict) and value.keys() == {_BYTES}):
            record[name] = _parsed(value) if name in structured else value
            continue
        data = _bytes(value[_BYTES])
        if data is None or (b"\x00" in data and name not in mapped):
            # A picture in a column that nobody asked for is no metadata.
            continue
        decoded = decoding.decode(data)
        record[name] = decoded.text
        flags |= {"repaired": None} if decoded.repaired else {}
        flags |= {"charset_guess": None} if decoded.guessed else {}
    return record, tuple(flags)


def _parsed(value: Any) -> Any:
    if not isinstance(value, str) or not value.lstrip().startswith(("[", "{")):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        # A tag in brackets, say.
        return value


def _bytes(text: object) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True) if isinstance(text, str) else None
    except (binascii.Error, ValueError):
        return None
