"""When the newest entry of a source was written, as far as the caller may see it.

One that is dated in the future says nothing of how far the source is behind.
"""

from typing import LiteralString

from shared.access import rights

_OF: LiteralString = """
    SELECT n.entry_time
      FROM (SELECT e.id, e.entry_time, e.deleted_at, e.logbooks, e.readers,
                   e.visible_from
              FROM entry e
             WHERE e.tenant = %(tenant)s AND e.source = """
# Whoever may see none of a source's entries would else have them all looked through.
_AMONG_THE_LAST: LiteralString = f""" AND e.entry_time <= statement_timestamp()
             ORDER BY e.entry_time DESC, e.id DESC
             LIMIT %(looked_through)s) AS n
     WHERE n.deleted_at IS NULL{rights.seen("n")}
     ORDER BY n.entry_time DESC, n.id DESC
     LIMIT 1"""


def newest_entry_sql(source: LiteralString) -> LiteralString:
    """Return the statement, for a source by its name there; one row, or none."""
    return _OF + source + _AMONG_THE_LAST
