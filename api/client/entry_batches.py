"""Many entries in requests of a bounded length."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

_BATCH = 500
# Half of what a request may have unless its settings say less.
_BATCH_BYTES = 8_000_000


def split_entries(
    entries: Iterable[Mapping[str, Any]],
) -> Iterator[list[dict[str, Any]]]:
    """Yield entries in requests of a bounded length, in their order."""
    batch: list[dict[str, Any]] = []
    size = 0
    for one in map(dict, entries):
        length = len(json.dumps(one))
        if batch and (len(batch) == _BATCH or size + length > _BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(one)
        size += length
    if batch:
        yield batch
