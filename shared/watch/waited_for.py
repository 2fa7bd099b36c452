"""Which entries somebody waits for: these alone are matched with saved searches."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import LiteralString
from uuid import UUID

from psycopg import Connection

from shared.messaging.stage_names import ALERT_STAGE
from shared.settings.settings import Settings
from shared.stages import entry_stages
from shared.work import due_work

_WAITED_FOR: LiteralString = """
    SELECT e.id FROM entry e
     WHERE e.tenant = %(tenant)s AND e.id = ANY (%(ids)s) AND e.deleted_at IS NULL
       AND EXISTS (SELECT FROM saved_search s
                    WHERE s.tenant = %(tenant)s AND s.alerts_since <= e.entry_time)
     LIMIT 5000"""

_HIDDEN: LiteralString = """
    SELECT e.id, e.visible_from FROM entry e
     WHERE e.tenant = %(tenant)s AND e.id = ANY (%(ids)s) AND e.deleted_at IS NULL
       AND e.visible_from > clock_timestamp()
     LIMIT 5000"""


def list_hidden(
    conn: Connection, tenant: str, ids: Sequence[UUID]
) -> dict[UUID, datetime]:
    """Return those of these entries that nobody may see yet, and from when on."""
    return dict(conn.execute(_HIDDEN, {"tenant": tenant, "ids": list(ids)}).fetchall())


def make_due(
    conn: Connection,
    settings: Settings,
    tenant: str,
    ids: Sequence[UUID],
    *,
    work_class: int,
) -> list[UUID]:
    """Make these entries due to be matched, as far as anybody waits for them.

    Called in the commit of what they are found by: their words, or their vectors.
    """
    if not ids or ALERT_STAGE not in entry_stages.list_runnable_stages(settings):
        return []
    given = {"tenant": tenant, "ids": list(ids)}
    waited = [row[0] for row in conn.execute(_WAITED_FOR, given)]
    due_work.add(conn, tenant, waited, [ALERT_STAGE], work_class=work_class)
    return waited
