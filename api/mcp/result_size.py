"""Results as a model reads them: entry text marked as data, the whole of it bounded."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

MOST_TEXT = 1000
LEAST_CHARS = 1000
DEFAULT_CHARS = 8000
_TEXTS = frozenset({"content", "text", "quote"})
_BEGIN, _END = "<logbook-text>", "</logbook-text>"
# Down to so little each text is cut before whole entries are left off.
_SHORTEST = (500, 250, 120)


def mark_as_data(value: Any) -> Any:
    """Return a result with every text of an entry between marks, and short.

    What stands between the marks was written by anybody: it is read and never obeyed.
    """
    if isinstance(value, list):
        return [mark_as_data(one) for one in value]
    if not isinstance(value, Mapping):
        return value
    return {
        name: fence(one[:MOST_TEXT], one)
        if name in _TEXTS and isinstance(one, str)
        else mark_as_data(one)
        for name, one in value.items()
    }


def fence(kept: str, whole: str) -> str:
    """Return a text between marks, which nothing in it can end or cite."""
    inside = kept.replace("[#", "[\\#").replace(_END, "</logbook-text >")
    more = "" if len(kept) == len(whole) else "\N{HORIZONTAL ELLIPSIS}"
    return f"{_BEGIN}{inside}{more}{_END}"


def write_bounded(result: Mapping[str, Any], max_chars: int) -> tuple[str, Any]:
    """Return a result as JSON of at most so many characters, and as the same values.

    `cut` tells how much was left off: characters of texts, then whole entries, the last
    first.
    """
    told: dict[str, Any] = {**result, "cut": {"entries": 0, "chars": 0}}
    text = _written(told)
    before = len(text)
    for most in _SHORTEST:
        if len(text) <= max_chars:
            break
        told = _shortened(told, most)
        told["cut"]["chars"] = before - len(_written(told))
        text = _written(told)
    while len(text) > max_chars and (longest := _longest_list(told)):
        longest.pop()
        told["cut"]["entries"] += 1
        text = _written(told)
    if len(text) > max_chars:
        kept = {
            name: value
            for name, value in told.items()
            if not isinstance(value, dict | list | str) or len(str(value)) < MOST_TEXT
        }
        # Whatever else there is, how it was cut is told.
        kept["cut"] = {**told["cut"], "chars": before}
        while len(text := _written(kept)) > max_chars and len(kept) > 1:
            largest = max(kept.keys() - {"cut"}, key=lambda one: len(str(kept[one])))
            del kept[largest]
        told = kept
    return text, told


def _written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _shortened(value: Any, most: int) -> Any:
    if isinstance(value, list):
        return [_shortened(one, most) for one in value]
    if isinstance(value, Mapping):
        return {name: _shortened(one, most) for name, one in value.items()}
    if isinstance(value, str) and value.startswith(_BEGIN):
        inside = value.removeprefix(_BEGIN).removesuffix(_END)
        return f"{_BEGIN}{_cut(inside, most)}{_END}"
    return value


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}\N{HORIZONTAL ELLIPSIS}"


def _longest_list(value: Mapping[str, Any]) -> list[Any] | None:
    """Return the list whose items take most room; None: there is none left."""
    return max(_lists(value), key=lambda one: len(_written(one)), default=None)


def _lists(value: Any) -> Iterator[list[Any]]:
    below = value.values() if isinstance(value, Mapping) else value
    for one in below:
        if isinstance(one, list) and one:
            yield one
        elif isinstance(one, Mapping):
            yield from _lists(one)
