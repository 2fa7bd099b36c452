"""Questions that pages offer: evaluated here, by words, and remembered for a while.

Pages offer the same few again and again, so each answer is kept for five minutes, by
what was asked and by who may see what. Nothing is recorded.
"""

import json
import threading
import time
from collections.abc import Sequence
from typing import Any

from api.search.searches import Searches
from shared.access.scope import Scope
from shared.answers.evaluate_suggestion import (
    Suggestion,
    evaluate_suggestion,
    find_readiness,
)
from shared.search.query.glossary_expansions import Approved
from shared.search.query.plan import SearchQuery

KEPT_SECONDS = 300.0
MOST_KEPT = 10_000


class Suggestions:
    """One per API process."""

    def __init__(self, searches: Searches) -> None:
        self._searches = searches
        self._kept: dict[str, tuple[float, Suggestion]] = {}
        self._lock = threading.Lock()

    def evaluate(
        self,
        queries: Sequence[str],
        scope: Scope,
        approved: Approved,
        within: dict[str, Any],
        ambient: dict[str, Any],
    ) -> list[Suggestion]:
        """Return the evaluation of each question, in the order given."""
        keys = [_key(one, scope, within, ambient) for one in queries]
        now = time.monotonic()
        with self._lock:
            kept = {key: self._kept[key][1] for key in keys if self._is_kept(key, now)}
        asked = zip(keys, queries, strict=True)
        missing = [(key, query) for key, query in asked if key not in kept]
        if missing:
            ready = find_readiness(self._searches.context, scope, within)
        for key, query in missing:
            question = SearchQuery(
                query,
                mode="keyword",
                limit=10,
                ordering={"scope": within} if within else {},
                ambient=ambient,
                synthesize="deterministic",
                any_word=True,
            )
            plan = self._searches.plan(question, scope, approved)
            kept[key] = evaluate_suggestion(self._searches.context, plan, ready)
        with self._lock:
            if len(self._kept) + len(missing) > MOST_KEPT:
                self._kept.clear()
            for key, _ in missing:
                self._kept[key] = (now + KEPT_SECONDS, kept[key])
        return [kept[key] for key in keys]

    def _is_kept(self, key: str, now: float) -> bool:
        return key in self._kept and self._kept[key][0] > now


def _key(
    query: str, scope: Scope, within: dict[str, Any], ambient: dict[str, Any]
) -> str:
    who = (scope.tenant, scope.subject, scope.groups, scope.logbooks, scope.reads_as)
    return json.dumps([query, who, within, ambient], sort_keys=True, default=str)
