"""A question compiled once, for the languages of the entries that it may meet.

Each entry is compared with the terms of its own language alone: negated in another
language, the very entry that it should exclude would match.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from shared.text import query_terms
from shared.text.facility import Facility
from shared.text.folding import STEMMED_LANGUAGES
from shared.text.query_terms import LanguageTerms, QueryTerms

# Every language without a stemmer: its words are compared as they stand.
UNSTEMMED = "*"


@dataclass(frozen=True, slots=True)
class Guard:
    """Languages whose entries are compared with the same terms."""

    languages: tuple[str, ...]
    terms: LanguageTerms


@dataclass(frozen=True, slots=True)
class Guarded:
    """The whole question, and how many of its words were left out."""

    guards: tuple[Guard, ...]
    terms: QueryTerms

    @property
    def can_relax(self) -> bool:
        """Whether any-of may find more than all-of."""
        return any(
            len(option) > 1 and not all(clause.is_exact for clause in option)
            for guard in self.guards
            for option in guard.terms.any_of
        )

    @property
    def is_exact(self) -> bool:
        """Whether nothing matches without a name or a phrase that was asked for."""
        options = [option for guard in self.guards for option in guard.terms.any_of]
        return bool(options) and all(
            any(clause.is_exact for clause in option) for option in options
        )

    def tsqueries(self, *, relaxed: bool = False) -> str:
        """Return what Postgres compares, as JSON; languages beside each query."""
        queries = [
            (guard.languages, query_terms.tsquery(guard.terms, relaxed=relaxed))
            for guard in self.guards
        ]
        return _as_json(queries)

    def exclusions(self) -> str:
        """Return what no answer may hold, as JSON; empty when nothing is excluded."""
        queries = [
            (guard.languages, query_terms.excluded_tsquery(guard.terms))
            for guard in self.guards
        ]
        return _as_json(queries)


def compile_query(text: str, facility: Facility, *, max_terms: int) -> Guarded:
    """Return the question for every language; equal terms stand together."""
    languages = [*sorted(STEMMED_LANGUAGES), UNSTEMMED]
    terms = query_terms.analyse_query(
        text, languages, max_terms=max_terms, facility=facility
    )
    together: dict[object, list[LanguageTerms]] = {}
    for one in terms.by_language:
        together.setdefault((one.any_of, one.excluded), []).append(one)
    guards = tuple(
        Guard(tuple(one.language for one in same), same[0])
        for same in together.values()
    )
    return Guarded(guards, terms)


def _as_json(queries: list[tuple[tuple[str, ...], str | None]]) -> str:
    return json.dumps(
        [{"languages": names, "query": query} for names, query in queries if query]
    )
