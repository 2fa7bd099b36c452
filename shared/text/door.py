"""The one door for foreign text: refused here, or returned exactly as it came."""

import json
import re
from functools import partial
from typing import Any, NoReturn

from shared.errors import InvalidRequestError

MAX_JSON_DEPTH = 32
MAX_NUMBER_CHARS = 64
# The most values of a request; the largest batch has fewer, and 16 MB of `[],[]`
# would take 400 MB.
MAX_JSON_VALUES = 1_000_000
_MAX_KEY_CHARS_SHOWN = 64

# Possessive, so that a hostile text costs one pass and no backtracking.
_STRINGS_AND_MARKS = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[\[\]{},]', re.DOTALL)
_BIDI = re.compile("[\u202a-\u202e\u2066-\u2069]")
# A joiner is part of writing between emoji or Arabic letters, and odd beside Latin,
# Greek or Cyrillic ones.
_JOINED = "[A-Za-z\u00c0-\u04ff]"
_ZERO_WIDTH = re.compile(
    "[\u180e\u200b\u2060-\u2064\ufeff]"
    f"|(?<={_JOINED})[\u200c\u200d]|[\u200c\u200d](?={_JOINED})"
)
_WORD = re.compile(r"[^\W\d_]+")
_LATIN = re.compile("[A-Za-z\u00c0-\u024f]")
_CYRILLIC = re.compile("[\u0400-\u052f]")
# Greek letters that look Latin; in short words ("μm", a tune) they are physics.
_GREEK_TWIN = re.compile("[ΑΒΕΖΗΙΚΜΝΟΡΤΥΧονρυικ]")
_MIN_GREEK_WORD = 4


def parse_json(raw: bytes, *, max_values: int | None = None) -> Any:
    """Return the document, or raise 400 `invalid_encoding` or `invalid_json`."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as exc:
        message = f"The body is not UTF-8 (byte {exc.start})."
        raise InvalidRequestError(message, code="invalid_encoding") from exc
    if text.startswith("\ufeff"):
        message = "The body must be UTF-8 without a byte order mark."
        raise InvalidRequestError(message, code="invalid_encoding")
    _check_shape(raw, max_values)
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as exc:
        _refuse(f"{exc.msg} at line {exc.lineno}, column {exc.colno}", exc)


def admit(text: str, path: str) -> str:
    """Return the text unchanged, or raise 422 naming the field that held it."""
    if "\x00" in text:
        message = f"{path} contains a NUL character."
        raise InvalidRequestError.field(
            path, "nul_character", message, top_code="nul_character"
        )
    if not text.isascii() and _has_lone_surrogate(text):
        message = f"{path} contains half of a surrogate pair."
        raise InvalidRequestError.field(
            path, "lone_surrogate", message, top_code="lone_surrogate"
        )
    return text


def check_tree(value: Any, path: str = "") -> None:
    """Admit every text of a parsed document, keys included; no deeper than parsed."""
    if isinstance(value, str):
        admit(value, path or "body")
    elif isinstance(value, dict):
        for key, inner in value.items():
            # A name that cannot be answered must not stand in the answer.
            inside = _joined(path, _showable(key))
            admit(key, inside)
            if isinstance(inner, str | dict | list):
                check_tree(inner, inside)
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            if isinstance(inner, str | dict | list):
                check_tree(inner, _joined(path, str(place)))


def text_flags(text: str) -> tuple[str, ...]:
    """Name what a reader should display with care; the text itself stays."""
    if text.isascii():
        return ()
    found = {
        "bidi": _BIDI.search(text) is not None,
        "zero_width": _ZERO_WIDTH.search(text) is not None,
        "mixed_script": _mixes_scripts(text),
    }
    return tuple(name for name, is_found in found.items() if is_found)


def _check_shape(raw: bytes, max_values: int | None) -> None:
    """Refuse deep nesting before the parser, which would recurse into it.

    And too many values, which take a hundred times the bytes that say them.
    """
    depth = values = 0
    opened = raw.count(b"[") + raw.count(b"{")
    most = opened + raw.count(b",")
    if opened <= MAX_JSON_DEPTH and (max_values is None or most <= max_values):
        # Too few marks for either, though all of them counted.
        return
    for match in _STRINGS_AND_MARKS.finditer(raw):
        mark = match[0]
        if mark in b"[{":
            depth += 1
            values += 1
            if depth > MAX_JSON_DEPTH:
                _refuse(f"more than {MAX_JSON_DEPTH} levels deep")
        elif mark in b"]}":
            depth -= 1
        elif mark == b",":
            values += 1
            if max_values is not None and values > max_values:
                _refuse(f"more than {max_values} values")


def _number(text: str, kind: type[int | float]) -> float:
    if len(text) > MAX_NUMBER_CHARS:
        _refuse(f"a number is longer than {MAX_NUMBER_CHARS} characters")
    value = kind(text)
    if value in {float("inf"), float("-inf")}:
        _refuse("a number is out of range")
    if value == 0 and text.startswith("-"):
        _refuse("-0 is not a number here")
    return value


def _constant(name: str) -> NoReturn:
    _refuse(f"{name} is not a number")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        _refuse("an object names the same key twice")
    return document


# Made once: `json.loads` would make one for each message that a worker takes.
_DECODER = json.JSONDecoder(
    parse_int=partial(_number, kind=int),
    parse_float=partial(_number, kind=float),
    parse_constant=_constant,
    object_pairs_hook=_unique,
)


def _refuse(reason: str, cause: Exception | None = None) -> NoReturn:
    message = f"The body is not valid JSON: {reason}."
    raise InvalidRequestError(message, code="invalid_json") from cause


def _has_lone_surrogate(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


def _joined(path: str, part: str) -> str:
    return f"{path}.{part}" if path else part


def _showable(key: str) -> str:
    shown = key[:_MAX_KEY_CHARS_SHOWN].encode("utf-8", "replace").decode("utf-8")
    return shown.replace("\x00", "?")


def _mixes_scripts(text: str) -> bool:
    return any(
        _LATIN.search(word)
        and (
            _CYRILLIC.search(word)
            or (len(word) >= _MIN_GREEK_WORD and _GREEK_TWIN.search(word))
        )
        for word in _WORD.findall(text)
        if not word.isascii()
    )
