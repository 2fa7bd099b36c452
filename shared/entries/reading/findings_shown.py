"""What stages have found in an entry, as its readers are shown it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, LiteralString
from uuid import UUID

from psycopg import Connection

from shared.messaging.stage_names import DIGEST_STAGE

# Places are those of the text that it was found in: of another revision, none is shown.
_OF_ENTRY: LiteralString = """
    SELECT f.stage, f.found
      FROM entry_finding f
     WHERE f.entry_id = %(entry_id)s AND f.tenant = %(tenant)s
       AND f.revision = %(revision)s AND f.found <> '[]' AND f.stage <> %(digest)s
     ORDER BY f.stage
     LIMIT 100"""

_DIGESTS: LiteralString = """
    SELECT f.entry_id, f.revision, f.found -> 0 ->> 'summary' AS summary,
           coalesce(f.found -> 0 -> 'keywords', '[]') AS keywords
      FROM entry_finding f
     WHERE f.entry_id = ANY(%(entry_ids)s) AND f.tenant = %(tenant)s
       AND f.stage = %(digest)s
     LIMIT 1000"""


@dataclass(frozen=True, slots=True)
class Digest:
    """The summary and keywords of an entry, in its own words; empty for a short one."""

    summary: str | None = None
    keywords: tuple[str, ...] = ()


NO_DIGEST = Digest()


def load_findings(
    conn: Connection, tenant: str, entry_id: UUID, revision: int
) -> dict[str, list[dict[str, Any]]]:
    """Return the findings of each stage in one revision of an entry, by stage."""
    given = {
        "tenant": tenant,
        "entry_id": entry_id,
        "revision": revision,
        "digest": DIGEST_STAGE,
    }
    return dict(conn.execute(_OF_ENTRY, given).fetchall())


def digests(
    conn: Connection, tenant: str, entry_ids: Sequence[UUID]
) -> dict[tuple[UUID, int], Digest]:
    """Return the digests of entries, by entry and by the revision that was digested."""
    given = {"tenant": tenant, "entry_ids": list(entry_ids), "digest": DIGEST_STAGE}
    return {
        (entry_id, revision): Digest(summary, tuple(keywords))
        for entry_id, revision, summary, keywords in conn.execute(_DIGESTS, given)
    }
