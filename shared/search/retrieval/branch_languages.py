"""The languages that a branch searches: those its tenant's entries are in."""

from psycopg import Connection, Cursor

from shared.errors import DatabaseQueryError
from shared.search.retrieval.module_contract import Ask
from shared.search.retrieval.search_context import SearchContext
from shared.search.retrieval.tenant_languages import (
    assume_every_language,
    send_languages,
)


def choose_languages(ask: Ask, context: SearchContext) -> tuple[str, ...]:
    """Return the languages that a branch searches; empty: all that there may be."""
    if context.written_in is None:
        return ()
    return context.written_in.load_languages(
        context.pool, ask.plan.scope.tenant, ask.budget_ms
    )


class Assumed:
    """Searches in the languages seen lately, and then checks that there are no others.

    The check goes out with the statements about hits and delays no search. Hits in a
    new language that the second search finds are as fresh as the first ones.
    """

    def __init__(self, ask: Ask, context: SearchContext) -> None:
        self._known = context.written_in
        self._tenant = ask.plan.scope.tenant
        lately = self._known.lately(self._tenant) if self._known else ()
        self.languages = choose_languages(ask, context) if lately is None else lately
        # A search in every language misses none, but the next one may need fewer.
        self._is_compared = self._known is None or lately is None
        self._rows: Cursor | None = None
        self._there: tuple[str, ...] = self.languages

    def ask(self, conn: Connection, budget_ms: int) -> None:
        """Ask for the languages of the entries, as the last statement of a pipeline."""
        if not self._is_compared:
            self._rows = send_languages(conn, self._tenant, budget_ms)

    def hear(self) -> None:
        """Read the languages that were asked for."""
        if self._known is not None and self._rows is not None:
            self._there = self._known.fetch_languages(self._tenant, self._rows)
            self._rows, self._is_compared = None, True

    def unheard(self, error: DatabaseQueryError) -> None:
        """Assume every language, for the question was not answered."""
        self._there = assume_every_language(error)
        self._rows, self._is_compared = None, True

    def others(self, ask: Ask, context: SearchContext) -> tuple[str, ...] | None:
        """Return the languages to search anew; None: the search had all that exist."""
        if not self._is_compared:
            self._there = choose_languages(ask, context)
        is_every = not self.languages
        if is_every or (self._there and set(self._there) <= set(self.languages)):
            return None
        return self._there
