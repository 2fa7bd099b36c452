"""What is like an entry, as it is answered."""

from __future__ import annotations

from pydantic import BaseModel

from api.search.schemas.branches import BranchOutcome
from api.search.schemas.hits import SearchHit


class SimilarEntries(BaseModel):
    """What is like an entry, best first, and by which ways that was told."""

    entry_id: str
    results: list[SearchHit]
    total_results: int
    branches: list[BranchOutcome]
