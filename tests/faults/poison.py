"""Entries that do harm: what happens to a worker that works on a certain word.

An order is `{"word": ..., "where": "metadata" | "embed", "does": ...}`; the word "" is
in every text. It does one of

    kill    SIGKILL the process at work
    raise   fail, as a text does that a library cannot digest
    hang    never come back, unless a time limit interrupts it
    stuck   never come back, whatever interrupts it
    wait    take `seconds` longer, and then do the work
    hog     take `megabytes` of memory, keep them, and fail for want of more
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

_MEGABYTE = 1_000_000
_HOG_MEGABYTES = 700

_hoard: list[bytes] = []


def install(orders: Sequence[dict[str, Any]]) -> None:
    """Let the stages of this process meet their poison."""
    from shared.embedding import of_entry
    from shared.enrich import metadata

    for order in orders:
        if order["where"] == "metadata":
            metadata.extract = _poisoned(metadata.extract, order)
        elif order["where"] == "embed":
            of_entry.embed = _poisoned(of_entry.embed, order)
        else:
            message = f"there is no poison for {order['where']!r}"
            raise ValueError(message)


def _poisoned(work: Callable[..., Any], order: dict[str, Any]) -> Callable[..., Any]:
    def step(content: Any, *args: Any, **kwargs: Any) -> Any:
        if order["word"] in content.text:
            _do_harm(order)
        return work(content, *args, **kwargs)

    return step


def _do_harm(order: dict[str, Any]) -> None:
    match order["does"]:
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "raise":
            message = "this text is poison"
            raise ValueError(message)
        case "hang":
            while True:
                threading.Event().wait(3600)
        case "stuck":
            while True:
                with suppress(Exception):
                    threading.Event().wait(3600)
        case "wait":
            threading.Event().wait(float(order["seconds"]))
        case "hog":
            size = int(order.get("megabytes", _HOG_MEGABYTES))
            # Written to, or the system would not give it yet.
            _hoard.extend(b"x" * _MEGABYTE for _ in range(size))
            raise MemoryError
        case other:
            message = f"poison does not {other!r}"
            raise ValueError(message)
