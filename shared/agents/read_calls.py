"""What a model wants to have called, from its own words, whichever way it says so.

Models with native tool calls say it beside their text, others in one JSON object, which
they are told to fence: some forget to, or write around it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shared.agents.json_texts import change_texts
from shared.text.decoding import mend

if TYPE_CHECKING:
    from shared.language_models.completion import Completion

MOST_CALLS = 8
# The most characters of one call; no question is longer.
MOST_CHARACTERS = 8000
# No tool takes anything nested, but lists.
MOST_DEPTH = 20
# So many places of a text are tried, where an object may begin.
_MOST_TRIED = 200
_BEGINS = re.compile(r"\{\s*\"")
# Models break lines within a text, which JSON does not allow.
_DECODER = json.JSONDecoder(strict=False)
_NAMES, _ARGUMENTS = ("tool", "name", "function"), ("arguments", "args", "parameters")


class MalformedCallError(ValueError):
    """The model's text looks like a call but cannot be read as one."""


@dataclass(frozen=True, slots=True)
class WantedCall:
    """A wanted call of a tool; or why its arguments cannot be read."""

    id: str
    name: str
    arguments: dict[str, Any]
    unreadable: str | None = None


def read_calls(
    said: Completion, tools: Collection[str]
) -> tuple[tuple[WantedCall, ...], bool]:
    """Return the wanted calls, and whether the model used the endpoint's own format.

    Raises `MalformedCallError` where a text is half a call and no answer either.
    """
    if said.tool_calls:
        found = [
            _native(place, one.id, one.name, one.arguments)
            for place, one in enumerate(said.tool_calls)
        ]
        return tuple(found[:MOST_CALLS]), True
    return _in_text(said.text, tools), False


def _native(place: int, id_: str, name: str, text: str) -> WantedCall:
    given = id_ or f"call_{place}"
    if len(text) > MOST_CHARACTERS:
        why = f"the arguments have more than {MOST_CHARACTERS} characters"
        return WantedCall(given, name[:64], {}, why)
    try:
        arguments = _read(text or "{}")
    except (ValueError, RecursionError):
        return WantedCall(given, name[:64], {}, "the arguments are no JSON")
    if not isinstance(arguments, dict):
        return WantedCall(given, name[:64], {}, "the arguments are no object")
    return WantedCall(given, name[:64], arguments)


def _in_text(text: str, tools: Collection[str]) -> tuple[WantedCall, ...]:
    """Return the calls among the JSON objects of a text, whatever stands around them.

    Other JSON in an answer is none of ours.
    """
    found: list[WantedCall] = []
    place = 0
    for _ in range(_MOST_TRIED):
        begins = _BEGINS.search(text, place)
        if begins is None or len(found) == MOST_CALLS:
            break
        block = text[begins.start() : begins.start() + MOST_CHARACTERS]
        # What is no call may hold some.
        call, length = None, 1
        try:
            value, end = _DECODER.raw_decode(block)
            call = _call(_checked(value), tools, len(found))
        except (ValueError, RecursionError) as exc:
            if any(f'"{one}"' in block for one in tools):
                raise MalformedCallError from exc
        if call is not None:
            found.append(call)
            length = end
        place = begins.start() + length
    return tuple(found)


def _call(values: Any, tools: Collection[str], place: int) -> WantedCall | None:
    if not isinstance(values, Mapping):
        return None
    name = next((values[key] for key in _NAMES if key in values), None)
    if isinstance(name, Mapping):
        # As the wire form has it: {"function": {"name": ..., "arguments": ...}}.
        values, name = name, name.get("name")
    arguments: Any = next((values[key] for key in _ARGUMENTS if key in values), {})
    if isinstance(arguments, str):
        try:
            arguments = _read(arguments)
        except (ValueError, RecursionError) as exc:
            raise MalformedCallError from exc
    if not isinstance(name, str) or not isinstance(arguments, dict):
        return None
    if name not in tools and not arguments:
        return None
    return WantedCall(f"call_{place}", name[:64], arguments)


def _read(text: str) -> Any:
    """Read JSON of a model; raises `ValueError` for what Postgres would not keep.

    Whoever keeps nothing asks the model once more. NUL and halves of pairs are mended,
    which JSON may have escaped.
    """
    return _checked(json.loads(text, strict=False))


def _checked(value: Any) -> Any:
    if _is_deep(value, MOST_DEPTH):
        raise ValueError("nested too deep")
    # Python reads numbers that no JSON has.
    json.dumps(value, allow_nan=False)
    return change_texts(value, lambda one: mend(one)[0], keys=True)


def _is_deep(value: Any, most: int) -> bool:
    if not isinstance(value, dict | list):
        return False
    inside = value.values() if isinstance(value, dict) else value
    return most == 0 or any(_is_deep(one, most - 1) for one in inside)
