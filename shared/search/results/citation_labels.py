"""What entries are cited by: the shortest name of each that fits a mark."""

import re
from collections import Counter
from collections.abc import Sequence
from uuid import UUID

from shared.search.results.hydrate import HitRow

_FIT = re.compile(r"[^\[\]\s@]{1,64}")


def make_labels(rows: Sequence[HitRow]) -> dict[UUID, str]:
    """Return the label of each entry: its shortest name that fits and is unique."""
    often = Counter(row.external_id for row in rows)
    labels: dict[UUID, str] = {}
    for row in rows:
        names = [f"{row.source}/{row.external_id}"]
        if often[row.external_id] == 1:
            names.insert(0, row.external_id)
        fit = (name for name in names if _FIT.fullmatch(name))
        labels[row.entry_id] = next(fit, str(row.entry_id))
    return labels
