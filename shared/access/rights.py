"""What a caller may see of entries, as a condition: it stands in no other file.

A statement names the tenant itself, and says itself if deleted entries count.
"""

from __future__ import annotations

from typing import LiteralString


def seen(entry: LiteralString) -> LiteralString:
    """Return the condition, for a WHERE, that keeps to what the caller may see."""
    return "\n       AND " + _condition(entry)


def unseen(entry: LiteralString) -> LiteralString:
    """Return the condition, for a WHERE, that keeps to the rest; null is no right."""
    return "\n       AND (" + _condition(entry) + ") IS NOT TRUE"


def as_open(other: LiteralString, entry: LiteralString) -> LiteralString:
    """Return the condition that all who may see an entry may see another one, too.

    It is for a WHERE. Rights that say the same in different ways may fail it.
    """
    return f"""
       AND {entry}.logbooks <@ {other}.logbooks
       AND ({other}.readers IS NULL OR {entry}.readers <@ {other}.readers)
       AND ({other}.visible_from IS NULL OR {other}.visible_from <= now()
            OR {other}.visible_from <= {entry}.visible_from)"""


def _condition(entry: LiteralString) -> LiteralString:
    return f"""(%(logbooks)s::text[] IS NULL OR {entry}.logbooks && %(logbooks)s)
       AND ({entry}.readers IS NULL OR {entry}.readers && %(principals)s::text[])
       AND ({entry}.visible_from IS NULL OR {entry}.visible_from <= now())"""


# The condition for an entry `e`, as nearly every statement calls it.
SEEN: LiteralString = seen("e")
# The thread of an entry `e` that they see, for a SELECT, as the caller may know it:
# called by the first of its entries that they see; null: they see no other, and would
# be told of it. Of a thread of thousands it reads two, and what is hidden before them.
THREAD: LiteralString = f"""(
               SELECT CASE WHEN seen.ids[2] IS NOT NULL THEN seen.ids[1] END
                 FROM (SELECT ARRAY (
                       SELECT kin.id FROM entry kin
                        WHERE kin.tenant = %(tenant)s AND kin.thread_id = e.thread_id
                          AND {_condition("kin")}
                        ORDER BY kin.id
                        LIMIT 2) AS ids) AS seen)"""


def in_threads(entry: LiteralString, named: LiteralString) -> LiteralString:
    """Return the condition that an entry is in threads, named by any entry seen there.

    It is for a WHERE. `named` is the parameter with the ids.
    """
    return f"""{entry}.thread_id = ANY (ARRAY(
               SELECT known.thread_id FROM entry known
                WHERE known.tenant = %(tenant)s AND known.thread_id IS NOT NULL
                  AND known.id = ANY ({named}::uuid[]) AND {_condition("known")}))"""
