"""The audit: who searched, read, exported, administered and logged in.

Rows are added, and never changed; the table refuses it. Retention drops whole days.
"""

import json
import os
import pwd
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Literal, LiteralString
from uuid import UUID

from psycopg import Connection

from shared.ids import uuid7
from shared.postgres.fetch_rows import fetch_all
from shared.postgres.partitioned_table import PartitionedTable

Action = Literal["search", "read", "export", "administer", "login"]
# Begun: stored before it is done, so that it cannot be done unseen.
Outcome = Literal["begun", "done", "refused", "failed"]
WayIn = Literal["key", "login", "gateway", "anonymous", "command"]

_TABLE = PartitionedTable(
    "audit_record",
    "audit_record_d",
    "at",
    86_400,
    2,
    lambda second: datetime.fromtimestamp(second, UTC),
    is_append_only=True,
)

# Stored twice, after a commit whose answer was lost, they are there once.
_STORE: LiteralString = """
    INSERT INTO audit_record (at, id, tenant, action, outcome, way_in, key_id, subject,
                              request, target, status, query_key, query, request_id)
    SELECT at, id, tenant, action, outcome, way_in, key_id, subject,
           request, target, status, query_key, query, request_id
      FROM json_populate_recordset(NULL::audit_record, %(records)s::json)
     ORDER BY at, id
        ON CONFLICT DO NOTHING"""
_LIST: LiteralString = """
    SELECT at, id, tenant, action, outcome, way_in, key_id, subject,
           request, target, status, query_key, query, request_id
      FROM audit_record
     WHERE (%(tenant)s = '*' OR tenant = %(tenant)s)
       AND (%(who)s::text IS NULL OR subject = %(who)s OR key_id = %(who)s)
       AND (%(action)s::text IS NULL OR action = %(action)s)
       AND (%(targets)s::text[] IS NULL OR target = ANY (%(targets)s))
       AND (%(since)s::timestamptz IS NULL OR at >= %(since)s)
       AND (%(until)s::timestamptz IS NULL OR at < %(until)s)
       AND (%(at)s::timestamptz IS NULL OR (at, id) < (%(at)s, %(id)s))
     ORDER BY at DESC, id DESC
     LIMIT %(limit)s"""


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """One row of the audit: who, what, when, and what came of it."""

    tenant: str
    action: Action
    outcome: Outcome
    way_in: WayIn
    subject: str
    request: str
    key_id: str | None = None
    target: str | None = None
    status: int | None = None
    query_key: str | None = None
    query: str | None = None
    request_id: str | None = None
    at: datetime = field(default_factory=_now)
    id: UUID = field(default_factory=uuid7)

    @property
    def place(self) -> list[str]:
        """Return its place in the list, as a cursor holds it."""
        return [self.at.isoformat(), str(self.id)]


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Which rows are asked for; None: any."""

    who: str | None = None
    action: Action | None = None
    # Any of these: an entry has several names.
    targets: list[str] | None = None
    since: datetime | None = None
    until: datetime | None = None


def store_records(conn: Connection, records: Iterable[AuditRecord]) -> None:
    """Add rows to the audit; the caller commits."""
    told = json.dumps([asdict(one) for one in records], default=str)
    conn.execute(_STORE, {"records": told})


def note_command(
    conn: Connection,
    command: str,
    target: str,
    *,
    tenant: str = "*",
    action: Action = "administer",
) -> None:
    """Add what a command does straight in the database, in its own transaction."""
    user = os.getuid()
    try:
        subject = pwd.getpwuid(user).pw_name
    except KeyError:
        # A container may run as a number that has no name.
        subject = str(user)
    record = AuditRecord(
        tenant, action, "done", "command", subject, command, target=target
    )
    store_records(conn, [record])


def list_records(
    conn: Connection,
    tenant: str,
    asked: AuditFilter,
    *,
    limit: int,
    after: Sequence[str] | None = None,
) -> list[AuditRecord]:
    """Return rows of a tenant, or of all with `*`, the newest first."""
    at, record_id = after or (None, None)
    values = {**asdict(asked), "tenant": tenant, "at": at, "id": record_id}
    return fetch_all(conn, AuditRecord, _LIST, {**values, "limit": limit})


def rotate_audit(
    conn: Connection, *, retention_days: int, day: int | None = None
) -> None:
    """Make the partitions of the next days, and drop what is past the retention."""
    _TABLE.rotate(conn, retention_days, day)
