"""Every kept payload read again by a newer parser, without asking the source."""

from dataclasses import replace
from uuid import UUID

from shared.adapter_contract.contract import RawItem
from shared.entries.saving import payloads
from shared.entries.saving.payloads import StoredPayload
from shared.postgres.pool import connection
from shared.sources import source_state
from shared.sources.intake.skip_unchanged import digest_in
from shared.sources.intake.store_page import Intake, Steps
from shared.work import due_work as due

_AT_ONCE = 200
_BEFORE_ALL = UUID(int=0)


def steps(intake: Intake) -> Steps:
    """Parse a source's stored payloads again; hashes tell which entries changed."""
    intake.work_class = due.BULK
    after = UUID((intake.cursor or {}).get("after", str(_BEFORE_ALL)))
    while True:
        with connection(intake.pool) as conn:
            kept = payloads.current(
                conn, intake.tenant, intake.name, after=after, limit=_AT_ONCE
            )
        if not kept:
            break
        after = kept[-1].entry_id
        items = [_raw(one) for one in kept]
        yield intake.store(intake.read(items), {"v": 1, "after": str(after)})
        if intake.is_cut:
            return
    with connection(intake.pool) as conn:
        if not intake.run.is_dry:
            version = intake.opened.descriptor.version
            source_state.note_parsed(conn, intake.tenant, intake.name, version)
        intake.keep(conn, {"v": 1})


def _raw(one: StoredPayload) -> RawItem:
    """Return the stored item with its digest, by which the next poll knows it again."""
    return replace(one.raw(), digest=digest_in(one.stamp), size=len(one.payload))
