"""What logbook search leaves for the steps behind it."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from api.capability.orchestration import CapabilityContext
from shared.search.response.search_answer import SearchAnswer

PREVIEW_CHARACTERS = 200
_PREVIEWS = 10


@dataclass(frozen=True)
class LogbookSearchResultsContext(CapabilityContext):
    """Entries that were found, by relevance, and the answer made of them."""

    CONTEXT_TYPE: ClassVar[str] = "LOGBOOK_SEARCH_RESULTS"
    CONTEXT_CATEGORY: ClassVar[str] = "DATA"

    entries: tuple[dict[str, Any], ...]
    answer: str | None
    # Ids that the answer cites.
    sources: tuple[str, ...]
    search_modes_used: tuple[str, ...]
    query: str
    time_range_applied: bool
    # True: a part of the search failed, and something may be missing.
    degraded: bool = False
    # Up to when everything that was written has been searched.
    as_of: str | None = None
    diagnostics: tuple[str, ...] = ()

    @classmethod
    def of(cls, found: SearchAnswer) -> Self:
        """Return a search's answer as a context."""
        return cls(
            entries=tuple(one.to_json() for one in found.results),
            answer=found.answer,
            sources=tuple(found.sources),
            search_modes_used=tuple(found.search_modes_used),
            query=found.query,
            time_range_applied=found.time_range_applied,
            degraded=found.degraded,
            as_of=found.as_of,
            diagnostics=tuple(one.message for one in found.diagnostics),
        )

    def get_summary(self) -> dict[str, Any]:
        """Return the findings in short, with enough words to write a reply."""
        return {
            "query": self.query,
            "entry_count": len(self.entries),
            "search_modes_used": list(self.search_modes_used),
            "time_range_applied": self.time_range_applied,
            "degraded": self.degraded,
            "as_of": self.as_of,
            "diagnostics": list(self.diagnostics),
            "answer": self.answer,
            "sources": list(self.sources),
            "previews": [_preview(one) for one in self.entries[:_PREVIEWS]],
        }

    def get_access_details(self, key: str) -> dict[str, Any]:
        """Return how code reads entries, answer and sources of a stored search."""
        path = f"context.{self.CONTEXT_TYPE}.{key}"
        return {
            "access_pattern": f"{path}.entries, {path}.answer, {path}.sources",
            "data_structure": "entries: tuple of dicts (entry_id, title, content, "
            "entry_time, source_uri, relevance_score, ...); answer: text or None; "
            "sources: tuple of cited ids",
            "example": f"{path}.entries[0]['title']",
            "entry_count": len(self.entries),
        }


def _preview(entry: dict[str, Any]) -> dict[str, Any]:
    text = entry["content"] or ""
    short = text[:PREVIEW_CHARACTERS]
    return {
        "entry_id": entry["entry_id"],
        "entry_time": entry["entry_time"],
        "title": entry["title"],
        "text": short if short == text else f"{short[:-1]}\N{HORIZONTAL ELLIPSIS}",
    }
