"""A turn of an agent in a terminal: what was called, what came of it, what it cost."""

import json
from typing import Any

from api.cli.render.terminal import plain


def tell(turn: dict[str, Any]) -> list[str]:
    """Return a turn in a few words, each of its calls in one."""
    told = [str(turn["turn"])]
    told += [_call(one) for one in turn["tool_calls"]] or ["no calls"]
    told.append(f"{turn['tokens_in']} + {turn['tokens_out']} tokens")
    if turn["took_ms"] is not None:
        told.append(f"{turn['took_ms']:.0f} ms")
    if turn["repeated"]:
        often = "once" if turn["repeated"] == 1 else f"{turn['repeated']} times"
        told.append(f"taken up again {often}")
    if turn["exit_reason"]:
        told.append(f"ended: {turn['exit_reason']}")
    return told


def _call(one: dict[str, Any]) -> str:
    given = "..." if one["args"] is None else json.dumps(one["args"])[1:-1]
    came = one["error_code"] if one["status"] in {"error", "invalid"} else None
    # What looks up a time finds no entries, and is none the worse for it.
    count = one["results_found"] if one["status"] == "ok" else 0
    found = f"{count} found" if count else one["status"]
    again = " (the same as before)" if one["repeated"] else ""
    return plain(f"{one['tool']}({given}): {came or found}{again}")
