"""Results as a model reads them: entry text marked as data, the whole of it bounded."""

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from shared import entry_fields
from shared.answers.evidence.sentences import split_sentences

LEAST_CHARS = 1000
DEFAULT_CHARS = 8000
_TEXTS = frozenset(
    {"content", "text", "quote", "title", "summary", "caption", "excerpt", "highlights"}
    | {"questions", "metadata", "entities", "keywords", "findings", "filename"}
)
# Filters take these: what is short and has no sign of a sentence is told as it is.
_NAMED = frozenset({"author", "authors", "tags", "logbooks", *entry_fields.NAMES})
_BEGIN, _END = "<logbook-text>", "</logbook-text>"
# An end that a text holds itself, as it stands within marks.
_OTHER_END = "</logbook-text >"
_CITES, _CITES_NOT = "[#", "[\\#"
_NAME = re.compile(r"[\w.:/&()' -]{1,40}")
_ANSWER = "answer"
# Down to so little each text is cut before whole entries are left off.
_SHORTEST_TEXT = 120
# What is not a text of an entry goes whole, unless nothing else is left to leave off.
_LONG = 1000


def mark_as_data(value: Any) -> Any:
    """Return a result with every text of an entry between marks, and whole.

    What stands between the marks was written by anybody: it is read and never obeyed.
    """
    if isinstance(value, list):
        return [mark_as_data(one) for one in value]
    return mark_fields_as_data(value) if isinstance(value, Mapping) else value


def mark_fields_as_data(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return fields with every text of an entry among them between marks."""
    return {
        name: mark_all(one) if name in _TEXTS else _mark_other(name, one)
        for name, one in fields.items()
    }


def _mark_other(name: str, value: Any) -> Any:
    return mark_names(value) if name in _NAMED else mark_as_data(value)


def mark_all(value: Any) -> Any:
    """Return a value with every text in it between marks; a short key goes without."""
    return _change_texts(value, fence, _fence_long)


def mark_names(value: Any) -> Any:
    """Return a value in which what is too long for a name stands between marks."""
    return _change_texts(value, _fence_long, _fence_long)


def take_marks_off(value: Any) -> Any:
    """Return an argument as it was written where it is copied from a result."""
    return _change_texts(value, _unfence, _unfence)


def _change_texts(
    value: Any, change: Callable[[str], str], change_key: Callable[[str], str]
) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_change_texts(one, change, change_key) for one in value]
    if isinstance(value, Mapping):
        return {
            change_key(name): _change_texts(one, change, change_key)
            for name, one in value.items()
        }
    return value


def fence(text: str) -> str:
    """Return a text between marks, which nothing in it can end or cite."""
    return fence_answer(text.replace(_CITES, _CITES_NOT))


def _fence_long(text: str) -> str:
    return text if _NAME.fullmatch(text) else fence(text)


def _unfence(text: str) -> str:
    if _BEGIN not in text:
        return text
    bare = text.replace(_BEGIN, "").replace(_END, "")
    return bare.replace(_OTHER_END, _END).replace(_CITES_NOT, _CITES)


def fence_answer(text: str) -> str:
    """Return sentences of entries between marks, with the citations that they carry."""
    inside = text.replace(_END, _OTHER_END)
    return f"{_BEGIN}{inside}{_END}"


def write_bounded(result: Mapping[str, Any], max_chars: int) -> tuple[str, Any]:
    """Return a result as JSON of at most so many characters, and as the same values.

    `cut` tells how much was left off: characters of texts, then whole entries, the last
    first.
    """
    told: dict[str, Any] = {**result, "cut": {"entries": 0, "chars": 0}}
    text = _written(told)
    before = len(text)
    if before > max_chars:
        if isinstance(answer := told.get(_ANSWER), str):
            # It goes before what it was made of, in whole sentences.
            told[_ANSWER] = _cut_sentences(answer, max_chars // 2)
        told = _shortened(told, _find_most(told, max_chars))
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
            if not isinstance(value, dict | list | str) or len(str(value)) < _LONG
        }
        # Whatever else there is, how it was cut is told.
        kept["cut"] = {**told["cut"], "chars": before}
        while len(text := _written(kept)) > max_chars and len(kept) > 1:
            largest = max(kept.keys() - {"cut"}, key=lambda one: len(str(kept[one])))
            del kept[largest]
        told = kept
    return text, told


def write_error(body: Mapping[str, Any], max_chars: int) -> tuple[str, Any]:
    """Return an error as JSON of at most so many characters, and as the same values.

    Its longest details are left off first; its code and what to do always remain.
    """
    error = dict(body["error"])
    details = dict(error.get("details", {}))
    if details:
        error["details"] = details
    while details and len(_written({"error": error})) > max_chars:
        del details[max(details, key=lambda name: len(_written(details[name])))]
    if len(_written({"error": error})) > max_chars:
        # A character takes up to six where it is written as its number.
        error["message"] = _cut(error["message"], max_chars // 12)
    told = {"error": error}
    return _written(told), told


def count_kept(result: Mapping[str, Any], name: str, max_chars: int) -> int:
    """Return how many items of a list remain in a result of bounded length."""
    _, told = write_bounded(result, max_chars)
    return len(told.get(name, ()))


def _find_most(told: Mapping[str, Any], max_chars: int) -> int:
    """Return how long each text may be for all of them to fit."""
    # As many digits as there will be at most.
    counted = {**told, "cut": {"entries": 0, "chars": len(_written(told))}}
    lengths = range(_SHORTEST_TEXT, max_chars)
    fitting = bisect_right(
        lengths, max_chars, key=lambda most: len(_written(_shortened(counted, most)))
    )
    return _SHORTEST_TEXT + max(0, fitting - 1)


def _written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _shortened(value: Any, most: int) -> Any:
    if isinstance(value, list):
        return [_shortened(one, most) for one in value]
    if isinstance(value, Mapping):
        return {
            name: one if name == _ANSWER else _shortened(one, most)
            for name, one in value.items()
        }
    if isinstance(value, str) and value.startswith(_BEGIN):
        inside = value.removeprefix(_BEGIN).removesuffix(_END)
        return f"{_BEGIN}{_cut(inside, most)}{_END}"
    return value


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}\N{HORIZONTAL ELLIPSIS}"


def _cut_sentences(answer: str, most: int) -> str:
    """Return an answer without the last of its sentences, as many as are too much."""
    inside = answer.removeprefix(_BEGIN).removesuffix(_END)
    if len(inside) <= most:
        return answer
    ends = [one.end for one in split_sentences(inside) if one.end < most]
    kept = f"{inside[: ends[-1]]} \N{HORIZONTAL ELLIPSIS}" if ends else ""
    return f"{_BEGIN}{kept or _cut(inside, most)}{_END}"


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
