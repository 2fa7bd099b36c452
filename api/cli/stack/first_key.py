"""The admin key of the command line: made at the first start, kept in the home."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from local.secrets import write_private
from shared.access import keys
from shared.access.audit_records import note_command
from shared.access.scope import SCOPES
from shared.errors import AccessError
from shared.postgres.pool import connect

if TYPE_CHECKING:
    from psycopg import Connection


def ensure(database_url: str, home: Path) -> None:
    """Make a key for the command line, unless the one kept still works."""
    path = home / "run" / "cli_key"
    with connect(database_url, application="up", autocommit=True) as conn:
        if path.exists() and _works(conn, path.read_text(encoding="utf-8").strip()):
            return
        created = keys.create_key(
            conn,
            tenant=keys.DEFAULT_TENANT,
            name="cli",
            subject="cli",
            scopes=SCOPES,
        )
        note_command(conn, "logchord up", created.key_id, tenant=keys.DEFAULT_TENANT)
        write_private(path, created.token)


def _works(conn: Connection, token: str) -> bool:
    """Tell whether this database knows the key: it may be another one now."""
    try:
        keys.find(conn, token)
    except AccessError:
        return False
    return True
