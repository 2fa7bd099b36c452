"""What a model wants to have called, from its own words, whichever way it says so.

Models with native tool calls say it beside their text, others in one JSON object in a
fenced block.
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
_FENCED = re.compile(r"```(?:json|tool_call|tool)?([^`]*)```")
_TAGGED = re.compile(r"<tool_call>([^<]*)</tool_call>")
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
    blocks = [*_FENCED.findall(text), *_TAGGED.findall(text)] or [text]
    found: list[WantedCall] = []
    for block in map(str.strip, blocks):
        if block[:1] in {"{", "["}:
            found += _of_block(block, tools, len(found))
    return tuple(found[:MOST_CALLS])


def _of_block(block: str, tools: Collection[str], first: int) -> list[WantedCall]:
    names_one = any(f'"{one}"' in block for one in tools)
    try:
        values = _read(block[:MOST_CHARACTERS])
    except (ValueError, RecursionError) as exc:
        if names_one:
            raise MalformedCallError from exc
        # Other JSON in an answer is none of ours.
        return []
    listed = values if isinstance(values, list) else [values]
    return [
        call
        for place, one in enumerate(listed, first)
        if (call := _call(one, tools, place)) is not None
    ]


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
    value = json.loads(text)
    if _is_deep(value, MOST_DEPTH):
        message = "nested too deep"
        raise ValueError(message)
    # Python reads numbers that no JSON has.
    json.dumps(value, allow_nan=False)
    return change_texts(value, lambda one: mend(one)[0], keys=True)


def _is_deep(value: Any, most: int) -> bool:
    if not isinstance(value, dict | list):
        return False
    inside = value.values() if isinstance(value, dict) else value
    return most == 0 or any(_is_deep(one, most - 1) for one in inside)
