"""An entry that nobody could read stays findable: by its words as they stand."""

from collections.abc import Sequence
from typing import LiteralString

from psycopg import Connection

from shared.enrich import entry_facts, metadata
from shared.enrich.metadata import Extracted
from shared.entries.reading import read_entries
from shared.entries.reading.read_entries import Content
from shared.entries.saving import attachment_rows
from shared.errors import LogchordError
from shared.log import get_logger
from shared.messaging.stage_names import INDEX_STAGE, METADATA_STAGE
from shared.postgres.pool import translate_database_errors
from shared.settings.settings import Settings
from shared.settings.text_expectations import find_expectations
from shared.stages import entry_stages
from shared.text.analysis.analyser import plain_split, version_of
from shared.text.facility.facility import Facility
from shared.text.words import languages
from shared.work import due_work as due
from shared.work.due_work import Claim

log = get_logger()

# What is in longer files is left out: whoever quarantines has other things to do.
_MOST_FILE_BYTES = 1_000_000
# As of a text that is read. Memory, too, may be what it was quarantined for.
_HARMLESS = (
    ValueError,
    ArithmeticError,
    LookupError,
    TypeError,
    AttributeError,
    RecursionError,
    MemoryError,
)

_LOCK_ENTRY: LiteralString = """
    SELECT FROM entry
     WHERE id = %(entry_id)s AND tenant = %(tenant)s
       FOR NO KEY UPDATE"""


def lock(conn: Connection, claim: Claim) -> None:
    """Lock an entry before its work, as everybody does: an edit waits or is seen."""
    conn.execute(_LOCK_ENTRY, {"entry_id": claim.entry_id, "tenant": claim.tenant})


def stand_in(
    conn: Connection, claim: Claim, settings: Settings, facility: Facility
) -> None:
    """Store the words of an entry as they stand, and make the next stages due.

    What goes wrong for good is logged, and the entry is as it was.
    """
    tenant, entry_id, work_class = claim.tenant, claim.entry_id, claim.work_class
    following = entry_stages.list_next_stages(settings, METADATA_STAGE)
    try:
        with translate_database_errors(), conn.transaction():
            content = read_entries.load_contents(conn, tenant, [entry_id]).get(entry_id)
            if content is None:
                return
            if content.deleted:
                due.add(conn, tenant, [entry_id], [INDEX_STAGE], work_class=work_class)
                return
            found = _found(content, settings, facility, _files(conn, content))
            metadata.store(
                conn, content, found, work_class=work_class, following=following
            )
    except LogchordError as exc:
        if exc.retriable:
            raise
        log.exception("plain_split_not_kept", entry_id=str(entry_id))
    except _HARMLESS:
        log.exception("plain_split_failed", entry_id=str(entry_id))


def _found(
    content: Content, settings: Settings, facility: Facility, files: Sequence[str]
) -> Extracted:
    # Nothing that may have harmed the reader is tried again: no marks are taken out, no
    # names are looked for.
    return Extracted(
        languages.UNKNOWN,
        plain_split(metadata.sections_of(content, content.text, files)),
        version_of(facility),
        [],
        entry_facts.collect_declared_facts(content, languages.UNKNOWN, facility),
        entry_facts.version_of(
            facility, find_expectations(settings, content.source, content.tenant)
        ),
    )


def _files(conn: Connection, content: Content) -> list[str]:
    if not content.has_attachments or content.attached_bytes > _MOST_FILE_BYTES:
        return []
    return attachment_rows.load_texts(conn, content.tenant, content.entry_id)
