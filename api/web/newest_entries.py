"""The newest entries as a page shows them, which nobody counts for it."""

from typing import Any

from api.caller_info import CallerInfo
from api.context import ApiContext
from api.entries.entry_bodies import bodies, make_readable
from shared.entries.reading import read_entries
from shared.postgres.pool import connection


def load_newest(ctx: ApiContext, caller: CallerInfo, most: int) -> dict[str, Any]:
    """Return the newest entries that the caller may see, each text without markup."""
    scope, anything = caller.scope, read_entries.ListingFilter()
    with connection(ctx.pool) as conn:
        found = read_entries.list_entries(conn, scope, anything, limit=most)
        shown = bodies(ctx, conn, scope, found)
        return {"items": make_readable(conn, scope, shown)}
