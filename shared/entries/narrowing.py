"""The filters of a search or listing, as conditions on an entry `e`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, LiteralString

# Facts stand in the entry's tsvector, apart from its words; an entry that metadata has
# not reached yet has none, and passes no filter of them.
NARROWED: LiteralString = """
       AND (%(only_sources)s::text[] IS NULL OR e.source = ANY (%(only_sources)s))
       AND (%(only_logbooks)s::text[] IS NULL OR e.logbooks && %(only_logbooks)s)
       AND (%(only_since)s::timestamptz IS NULL OR e.entry_time >= %(only_since)s)
       AND (%(only_until)s::timestamptz IS NULL OR e.entry_time < %(only_until)s)
       AND (%(only_facts)s::tsquery IS NULL OR EXISTS (
            SELECT FROM entry_text nt
             WHERE nt.entry_id = e.id AND nt.tenant = %(tenant)s
               AND nt.tsv @@ %(only_facts)s::tsquery))
       AND (%(only_people)s::text[] IS NULL OR EXISTS (
            SELECT FROM entry_finding nf
             WHERE nf.entry_id = e.id AND nf.tenant = %(tenant)s
               AND nf.stage = 'metadata' AND nf.people LIKE ANY (%(only_people)s)))
       AND (%(only_dimension)s::text IS NULL OR EXISTS (
            SELECT FROM entry_quantity nq
             WHERE nq.entry_id = e.id AND nq.tenant = %(tenant)s
               AND nq.dimension = %(only_dimension)s
               AND nq.value BETWEEN %(only_least)s AND %(only_most)s
               AND nq.name LIKE %(only_named)s))"""

# What is null where it does not narrow.
OPTIONAL = (
    "only_sources",
    "only_logbooks",
    "only_since",
    "only_until",
    "only_facts",
    "only_people",
    "only_dimension",
)
# Of a search without filters.
ANYTHING: Mapping[str, Any] = {
    **dict.fromkeys(OPTIONAL),
    "only_least": None,
    "only_most": None,
    "only_named": None,
}
