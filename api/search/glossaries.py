"""What each facility has approved, for its plans: read every two seconds at most."""

import asyncio
import time

from shared.errors import LogchordError
from shared.glossary import glossary_terms
from shared.log import get_logger
from shared.postgres.pool import Pool, connection
from shared.search.query.glossary_expansions import NOTHING_APPROVED, Approved
from shared.text.facility.facility import Facility

log = get_logger()

# What another process has decided holds here so much later.
KEPT_SECONDS = 2.0
# A search does not wait longer for it, and takes what was known last.
_WAIT_SECONDS = 1.0
_KEPT_TENANTS = 1000


class Glossaries:
    """One per API process; a search reads nothing if another one has just done so."""

    def __init__(self, pool: Pool, facility: Facility) -> None:
        self._pool = pool
        self._facility = facility
        self._known: dict[str, tuple[float, Approved]] = {}
        # How often something was decided here.
        self._decided = 0

    async def of(self, tenant: str) -> Approved:
        """Return the approved terms; the last known ones while Postgres is slow."""
        now = time.monotonic()
        until, last = self._known.get(tenant, (now, NOTHING_APPROVED))
        if until > now:
            return last
        if tenant in self._known:
            # Whoever asks meanwhile takes what is known: one reads.
            self._known[tenant] = (now + KEPT_SECONDS, last)
        try:
            async with asyncio.timeout(_WAIT_SECONDS):
                return await asyncio.to_thread(self._read, tenant, last)
        except (LogchordError, TimeoutError) as exc:
            code = exc.error_code if isinstance(exc, LogchordError) else "late"
            log.warning("glossary_not_read", code=code)
            return last

    def forget(self, tenant: str) -> None:
        """Have the next search read the terms anew, after a decision here."""
        self._decided += 1
        self._known.pop(tenant, None)

    def _read(self, tenant: str, last: Approved) -> Approved:
        decided = self._decided
        with connection(self._pool) as conn:
            pairs = glossary_terms.list_approved(conn, tenant)
        # To read its terms takes long where there are many: only what has changed.
        found = last if pairs == last.pairs else Approved(pairs, self._facility)
        if len(self._known) >= _KEPT_TENANTS:
            self._known.clear()
        if decided == self._decided:
            # Else it may be what was there before.
            self._known[tenant] = (time.monotonic() + KEPT_SECONDS, found)
        return found
