"""Who did what: noted in memory and written every second, or before it is done."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any

from starlette.requests import Request

from api.caller_info import CallerInfo
from api.server import metrics
from api.server.background_task import BackgroundTask
from shared.access import audit_records
from shared.access.audit_records import Action, AuditRecord, Outcome, WayIn
from shared.access.scope import Scope
from shared.errors import DatabaseConnectionError, DatabaseQueryError
from shared.ids import uuid7
from shared.log import get_logger
from shared.postgres.pool import Pool
from shared.postgres.statement_deadline import timed_connection

log = get_logger()

WRITE_SECONDS = 1.0
# While Postgres is away: some megabytes, and minutes of a busy facility.
MOST_WAITING = 10_000
# Few enough to be written within the time of a statement.
MOST_AT_ONCE = 2_000
_WRITE_MS = 2_000
_MOST_TARGET, _MOST_QUERY = 500, 1_000
# In the table before it is done, or it is not done.
_BEFOREHAND: frozenset[Action] = frozenset({"export", "administer"})
_ABOUT_PEOPLE: frozenset[Action] = frozenset({"search", "read"})


class Audit(BackgroundTask):
    """Collects rows of the audit, and writes them together."""

    name = "audit"

    def __init__(self, pool: Pool, *, keeps_reading: bool) -> None:
        self._pool = pool
        self._keeps_reading = keeps_reading
        self._waiting: list[AuditRecord] = []
        self._lock = asyncio.Lock()
        metrics.watch_audit(lambda: len(self._waiting))

    def note(self, record: AuditRecord) -> None:
        """Have a row written within a second; without room it is counted as lost."""
        if len(self._waiting) < MOST_WAITING:
            self._waiting.append(record)
        else:
            metrics.audit_lost()

    def open(
        self, request: Request, caller: CallerInfo, action: Action
    ) -> AuditedRequest | None:
        """Return a request that leaves rows; None: its kind leaves none."""
        if action in _ABOUT_PEOPLE and not self._keeps_reading:
            return None
        return AuditedRequest(self, _describe(request, caller, action), caller.audited)

    async def write(self, *now: AuditRecord) -> None:
        """Write these rows with the oldest of those that wait, which wait on if not."""
        async with self._lock:
            # Taken away once they are committed: written twice they are there once.
            rows = self._waiting[:MOST_AT_ONCE]
            if rows or now:
                await asyncio.to_thread(self._store, [*rows, *now])
                del self._waiting[: len(rows)]

    async def try_to_write(self, *now: AuditRecord) -> bool:
        """Write rows, or say in the log that they wait, and return false."""
        try:
            await self.write(*now)
        except (DatabaseConnectionError, DatabaseQueryError) as exc:
            for record in now:
                self.note(record)
            waiting = len(self._waiting)
            log.warning("audit_not_written", code=exc.error_code, waiting=waiting)
            return False
        return True

    async def stop(self) -> None:
        """Write the last rows, and end."""
        await super().stop()
        while self._waiting and await self.try_to_write():
            pass

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(WRITE_SECONDS)
            await self.try_to_write()

    def _store(self, rows: list[AuditRecord]) -> None:
        with timed_connection(self._pool, _WRITE_MS) as conn:
            audit_records.store_records(conn, rows)


@dataclass(frozen=True, slots=True)
class AuditedRequest:
    """A request that leaves a row when it is answered, or one before it, too."""

    audit: Audit
    begun: AuditRecord
    # What its handler tells of it, until then.
    told: Mapping[str, str]

    async def begin(self) -> None:
        """Store what is stored beforehand; without that it is not done."""
        if self.begun.action in _BEFOREHAND:
            await self.audit.write(self.begun)

    async def end(self, status: int) -> None:
        """Note how it is answered, and store what was stored beforehand at once."""
        told: dict[str, Any] = {**self.told}
        if "query" in told:
            told["query"] = told["query"][:_MOST_QUERY]
        now, outcome = datetime.now(UTC), outcome_of(status)
        told |= {"id": uuid7(), "at": now, "outcome": outcome, "status": status}
        record = replace(self.begun, **told)
        if record.action in _BEFOREHAND and outcome != "refused":
            # It is done, and that it was begun is in the table: the answer goes out.
            await self.audit.try_to_write(record)
        else:
            self.audit.note(record)


def make_login(
    request: Request, key_id: str, scope: Scope | None = None
) -> AuditRecord:
    """Return the row of a login; without a scope the key was refused, and is nobody's.

    Only admins of the installation read that one.
    """
    return AuditRecord(
        "*" if scope is None else scope.tenant,
        "login",
        "refused" if scope is None else "done",
        "login",
        key_id if scope is None else scope.subject,
        f"{request.method} /login",
        key_id=key_id,
        request_id=request.state.request_id,
    )


def outcome_of(status: int) -> Outcome:
    """Tell by its status how a request ended."""
    if status < HTTPStatus.BAD_REQUEST:
        return "done"
    return "failed" if status >= HTTPStatus.INTERNAL_SERVER_ERROR else "refused"


def _describe(request: Request, caller: CallerInfo, action: Action) -> AuditRecord:
    base = request.app.state.settings.base_path
    pattern = request.scope["route"].path.removeprefix(base)
    target = "/".join(map(str, request.path_params.values()))
    scope = caller.scope
    return AuditRecord(
        scope.tenant,
        action,
        "begun",
        _way_in(request, scope),
        scope.subject,
        f"{request.method} {pattern}",
        key_id=scope.key_id,
        target=target[:_MOST_TARGET] or None,
        request_id=caller.trace["request_id"],
    )


def _way_in(request: Request, scope: Scope) -> WayIn:
    if scope.is_person:
        return "gateway"
    if scope.key_id is None:
        return "anonymous"
    shown = request.headers
    return "key" if "authorization" in shown or "x-api-key" in shown else "login"
