"""What stages have found in an entry, as its readers are shown it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, LiteralString
from uuid import UUID

from psycopg import Connection

from shared.access import rights
from shared.access.scope import Scope
from shared.messaging.stage_names import DIGEST_STAGE, LINKS_STAGE

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

_MEANT: LiteralString = f"""
    SELECT t.source, t.external_id, t.id
      FROM (SELECT DISTINCT n.source, n.external_id
              FROM unnest(%(sources)s::text[], %(external_ids)s::text[])
                   AS n (source, external_id)) AS named
      JOIN entry t ON t.tenant = %(tenant)s AND t.source = named.source
                  AND t.external_id = named.external_id
     WHERE t.deleted_at IS NULL{rights.seen("t")}
     ORDER BY t.source, t.external_id
     LIMIT 1000"""


@dataclass(frozen=True, slots=True)
class Digest:
    """The summary and keywords of an entry, in its own words; empty for a short one."""

    summary: str | None = None
    keywords: tuple[str, ...] = ()


NO_DIGEST = Digest()


def load_findings(
    conn: Connection, scope: Scope, entry_id: UUID, revision: int
) -> dict[str, list[dict[str, Any]]]:
    """Return the findings of each stage in one revision of an entry, by stage.

    A link names the entry that it leads to, if the caller may see that entry.
    """
    given = {
        "tenant": scope.tenant,
        "entry_id": entry_id,
        "revision": revision,
        "digest": DIGEST_STAGE,
    }
    found: dict[str, list[dict[str, Any]]] = dict(
        conn.execute(_OF_ENTRY, given).fetchall()
    )
    links = [one for one in found.get(LINKS_STAGE, ()) if one["external_id"]]
    if links:
        names = {
            "sources": [one["source"] for one in links],
            "external_ids": [one["external_id"] for one in links],
        }
        meant = {
            (source, external_id): str(other)
            for source, external_id, other in conn.execute(
                _MEANT, {**scope.params, **names}
            )
        }
        for one in links:
            one["entry_id"] = meant.get((one["source"], one["external_id"]))
    return found


def digests(
    conn: Connection, tenant: str, entry_ids: Sequence[UUID]
) -> dict[tuple[UUID, int], Digest]:
    """Return the digests of entries, by entry and by the revision that was digested."""
    given = {"tenant": tenant, "entry_ids": list(entry_ids), "digest": DIGEST_STAGE}
    return {
        (entry_id, revision): Digest(summary, tuple(keywords))
        for entry_id, revision, summary, keywords in conn.execute(_DIGESTS, given)
    }
