"""The present rights of whoever owns a saved search."""

from __future__ import annotations

from psycopg import Connection

from shared.access import keys
from shared.access.scope import Scope
from shared.errors import AccessError
from shared.settings.settings import Settings
from shared.watch.saved_searches import SavedSearch


def find_rights(
    conn: Connection, settings: Settings, saved: SavedSearch
) -> Scope | None:
    """Return the rights of the key that wrote a search; None: it may not search."""
    if saved.key_id is None:
        allowed = settings.anonymous_scopes if settings.anonymous_loopback else ()
        scope = Scope(saved.tenant, saved.subject, allowed=frozenset(allowed))
    else:
        try:
            scope = keys.find_by_id(conn, saved.key_id)
        except AccessError:
            return None
    may_search = scope.is_admin or "search" in scope.allowed
    return scope if may_search and scope.tenant == saved.tenant else None
