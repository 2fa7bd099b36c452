"""The present rights of whoever owns a saved search."""

from datetime import UTC, datetime, timedelta

from psycopg import Connection

from shared.access import group_rights, keys
from shared.access.scope import Scope
from shared.errors import AccessError
from shared.settings.settings import Settings
from shared.watch.saved_searches import SavedSearch

# Whoever has not come through the gateway for so long may have left.
_AWAY = timedelta(days=30)


def find_rights(
    conn: Connection, settings: Settings, saved: SavedSearch
) -> Scope | None:
    """Return the rights of whoever wrote a search; None: they may not search."""
    try:
        scope = _find_scope(conn, settings, saved)
    except AccessError:
        return None
    may_search = scope.is_admin or "search" in scope.allowed
    return scope if may_search and scope.tenant == saved.tenant else None


def _find_scope(conn: Connection, settings: Settings, saved: SavedSearch) -> Scope:
    key = None if saved.key_id is None else keys.find_by_id(conn, saved.key_id)
    if saved.person_groups is not None and saved.person_seen_at is not None:
        if saved.person_seen_at < datetime.now(UTC) - _AWAY:
            raise AccessError
        present, groups = group_rights.read_people(settings), saved.person_groups
        person = group_rights.find_rights(present, saved.subject, groups, "search")
        return person if key is None else key.narrow_to(person)
    allowed = settings.anonymous_scopes if settings.anonymous_loopback else ()
    return key or Scope(saved.tenant, saved.subject, allowed=frozenset(allowed))
