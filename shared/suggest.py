"""The name that was most likely meant, where one is unknown."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

# Comparing takes longer the longer a name is; none of ours is nearly so long.
MAX_CHARACTERS = 100
# Below it words are alike by chance: `tenant` and `date_to`, `agentic` and `semantic`.
_LIKENESS = 0.7


def hint(name: str, known: Iterable[str]) -> str:
    """Return a sentence that names the nearest of what is known, or nothing."""
    folded = {one.casefold(): one for one in sorted(known)}
    near = difflib.get_close_matches(
        name[:MAX_CHARACTERS].casefold(), list(folded), n=1, cutoff=_LIKENESS
    )
    return f" Did you mean {folded[near[0]]}?" if near else ""
