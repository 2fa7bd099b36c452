"""Quarantines work that cannot be done; what cannot be read stays findable."""

from collections.abc import Callable

from psycopg import Connection

from shared.enrich import plain_fallback
from shared.errors import LogchordError
from shared.messaging.stage_names import METADATA_STAGE
from shared.settings.settings import Settings
from shared.text.facility.facility import Facility
from shared.work import quarantine
from shared.work.due_work import Claim


def quarantine_work(
    conn: Connection,
    claim: Claim,
    error: LogchordError,
    settings: Settings,
    facility: Callable[[], Facility],
) -> bool | None:
    """Quarantine an entry's stage, as `quarantine.add` does, in one commit.

    Who is not read is found by a plain split of its text, and its document shows that.
    """
    is_read_here = claim.stage == METADATA_STAGE
    if is_read_here:
        plain_fallback.lock(conn, claim)
    is_quarantined = quarantine.add(conn, claim, error)
    if is_quarantined and is_read_here:
        plain_fallback.stand_in(conn, claim, settings, facility())
    return is_quarantined
