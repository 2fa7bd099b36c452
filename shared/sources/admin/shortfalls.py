"""What of each source is not here: quarantined records, and files that did not come."""

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import LiteralString

from psycopg import Connection

# A source that refuses all its files may have as many as it has entries.
MOST_FILES = 50_000

_QUARANTINED: LiteralString = """
    SELECT q.source, count(*)
      FROM quarantine q
     WHERE q.tenant = %(tenant)s AND q.stage = 'ingest' AND q.source IS NOT NULL
     GROUP BY q.source
     ORDER BY q.source
     LIMIT 1000"""
# Numbers alone, whoever may read the entries: whoever mends the source need not.
_UNFETCHED: LiteralString = """
    WITH f AS MATERIALIZED (
        SELECT e.source, a.state = 'due' AS is_due, a.error ->> 'message' AS message,
               coalesce(a.error -> 'details' ->> 'reason', a.error ->> 'code') AS reason
          FROM attachment a
          JOIN entry e ON e.id = a.entry_id
         WHERE a.tenant = %(tenant)s AND e.tenant = %(tenant)s
           AND a.state <> 'stored' AND a.error IS NOT NULL
           AND e.deleted_at IS NULL
         LIMIT %(most)s)
    SELECT f.source, f.reason, count(*) AS files, bool_or(f.is_due), min(f.message)
      FROM f
     GROUP BY f.source, f.reason
     ORDER BY f.source, files DESC, f.reason
     LIMIT 1000"""


@dataclass(frozen=True, slots=True)
class UnfetchedFiles:
    """The files of a source that did not come for one reason."""

    reason: str
    files: int
    # Some of them are asked for again.
    is_due: bool
    # As it is said of one of them.
    message: str


@dataclass(slots=True)
class Shortfall:
    """The records and files of one source that are not here."""

    quarantined: int = 0
    unfetched: list[UnfetchedFiles] = field(default_factory=list)

    @property
    def files(self) -> int:
        """Return how many files did not come."""
        return sum(one.files for one in self.unfetched)

    def describe(self, name: str, *, admin: bool) -> Iterator[str]:
        """Yield a sentence for each kind of thing that is not here, and why.

        A message may name what only some may read, so admins alone are told it.
        """
        if self.quarantined:
            what = "record is" if self.quarantined == 1 else "records are"
            yield (
                f"Of the source {name!r} {self.quarantined} {what} quarantined:"
                f" `logchord quarantine list --stage ingest --source"
                f" {shlex.quote(name)}` shows why."
            )
        for one in self.unfetched:
            what = "file was" if one.files == 1 else "files were"
            message = f" {one.message}" if admin else ""
            again = " It is tried again by itself." if one.is_due else ""
            yield (
                f"Of the source {name!r} {one.files} {what} not fetched"
                f" ({one.reason}).{message}{again}"
            )


def load_shortfalls(conn: Connection, tenant: str) -> Mapping[str, Shortfall]:
    """Return the shortfall of each source of a tenant that lacks anything."""
    found: dict[str, Shortfall] = {}
    values = {"tenant": tenant, "most": MOST_FILES}
    for source, count in conn.execute(_QUARANTINED, values):
        found.setdefault(source, Shortfall()).quarantined = count
    for source, *one in conn.execute(_UNFETCHED, values):
        found.setdefault(source, Shortfall()).unfetched.append(UnfetchedFiles(*one))
    return found
