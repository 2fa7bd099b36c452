"""Entries that do harm: what happens to a worker that works on a certain word.

An order is `{"word": ..., "where": ..., "does": ...}`, "where" being a stage; the word
"" is in every text. It does one of

    kill    SIGKILL the process at work
    raise   fail, as a text does that a library cannot digest
    hang    never come back, unless a time limit interrupts it
    stuck   never come back, whatever interrupts it
    wait    take `seconds` longer, and then do the work
    hog     take `megabytes` of memory, keep them, and fail for want of more
"""

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
    from shared.embedding.vectors import embed_entry
    from shared.enrich import finding_stage, metadata
    from shared.enrich.duplicates import place_entry, unlike_entries
    from shared.opensearch import documents

    for order in orders:
        match order["where"]:
            case "metadata":
                _poison(metadata, "extract", order, _first_text)
            case "embed":
                _poison(embed_entry, "embed", order, _first_text)
            case "duplicates":
                _poison(place_entry, "shape_of", order, str)
                _poison(unlike_entries, "shape_of", order, str)
            case "index":
                _poison(documents, "_body", order, _stream)
            case _:
                _poison(finding_stage, "find", order, _text_of_stage(order["where"]))


def _poison(
    module: Any, name: str, order: dict[str, Any], text: Callable[..., str | None]
) -> None:
    work: Callable[..., Any] = getattr(module, name)

    def step(*args: Any, **kwargs: Any) -> Any:
        said = text(*args)
        if said is not None and order["word"] in said:
            _do_harm(order)
        return work(*args, **kwargs)

    setattr(module, name, step)


def _first_text(content: Any, *_: object) -> str:
    return str(content.text)


def _stream(_: str, __: Any, stream: Sequence[str]) -> str:
    # What the index is made of holds no text: words stand there by their stems.
    return " ".join(stream)


def _text_of_stage(name: str) -> Callable[..., str | None]:
    def text(stage: Any, content: Any, *_: object) -> str | None:
        # What another stage reads is no text here: not even "" is in it.
        return str(content.text) if stage.descriptor.name == name else None

    return text


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
