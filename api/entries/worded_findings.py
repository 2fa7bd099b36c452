"""What stages have found in an entry, in words for whoever reads it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

# Where something stands the text itself shows.
_PLACES = frozenset({"start", "end"})


def word_findings(
    findings: Mapping[str, Sequence[Mapping[str, Any]]],
) -> Iterator[tuple[str, str]]:
    """Yield each stage, and what it found: `number 4711, meaning arc; number 12`."""
    for stage, found in findings.items():
        yield stage, "; ".join(dict.fromkeys(map(_word, found)))


def _word(found: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{name} {_plain(value)}"
        for name, value in found.items()
        if name not in _PLACES and value is not None
    )


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
