"""What the entries of a batch say, for the stages that read them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from uuid import UUID

from shared.entries.reading import read_entries
from shared.entries.reading.read_entries import Content
from shared.log import get_logger
from shared.postgres.pool import connection
from shared.work.due_work import Claim
from workers.runtime.context import Context
from workers.runtime.task import attempt

log = get_logger()


class Contents:
    """The contents of a batch's entries, read together, or else one by one.

    If the batch cannot be read, only the entry that is to blame fails.
    """

    def __init__(self, ctx: Context, claims: Sequence[Claim]) -> None:
        self._ctx = ctx
        self._found: dict[UUID, Content] = {}
        error = attempt(self._read, claims)
        self._is_read = error is None
        if error is not None:
            log.warning(
                "batch_not_read", code=error.error_code, technical=error.technical
            )

    def of(self, claim: Claim) -> Content | None:
        """Return the present content of an entry, or None if it is deleted."""
        if not self._is_read:
            self._read([claim])
        return self._found.get(claim.entry_id)

    def _read(self, claims: Sequence[Claim]) -> None:
        by_tenant = sorted(claims, key=lambda claim: claim.tenant)
        with connection(self._ctx.pool) as conn:
            for tenant, group in groupby(by_tenant, key=lambda claim: claim.tenant):
                ids = [claim.entry_id for claim in group]
                self._found |= read_entries.load_contents(conn, tenant, ids)
