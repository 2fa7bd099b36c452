"""The filters of a search or listing, as conditions on an entry `e`."""

from collections.abc import Mapping
from typing import Any, LiteralString

from shared.access import rights

# What each filter asks of an entry where it is given. Facts stand in the entry's
# tsvector, apart from its words; an entry that metadata has not reached yet has none,
# and passes no filter of them.
_CONDITIONS: Mapping[LiteralString, tuple[LiteralString, LiteralString]] = {
    "only_sources": ("text[]", "e.source = ANY (%(only_sources)s)"),
    "only_logbooks": ("text[]", "e.logbooks && %(only_logbooks)s"),
    "only_since": ("timestamptz", "e.entry_time >= %(only_since)s"),
    "only_until": ("timestamptz", "e.entry_time < %(only_until)s"),
    # What its source does not say may be read in the text.
    "only_happened_since": (
        "timestamptz",
        """(e.event_time >= %(only_happened_since)s
            OR (e.event_time IS NULL AND EXISTS (
                SELECT FROM entry_quantity sq
                 WHERE sq.entry_id = e.id AND sq.tenant = %(tenant)s
                   AND sq.dimension = 'event_time=date'
                   AND to_timestamp(sq.value) >= %(only_happened_since)s)))""",
    ),
    "only_happened_until": (
        "timestamptz",
        """(e.event_time < %(only_happened_until)s
            OR (e.event_time IS NULL AND EXISTS (
                SELECT FROM entry_quantity uq
                 WHERE uq.entry_id = e.id AND uq.tenant = %(tenant)s
                   AND uq.dimension = 'event_time=date'
                   AND to_timestamp(uq.value) < %(only_happened_until)s)))""",
    ),
    "only_ids": (
        "text[]",
        """(e.external_id = ANY (%(only_ids)s)
            OR e.id = ANY (%(only_keys)s::uuid[]))""",
    ),
    "only_threads": (
        "uuid[]",
        f"""({rights.in_threads("e", "%(only_threads)s")}
            AND {rights.THREAD} IS NOT NULL)""",
    ),
    "only_others": ("text[]", "e.id::text <> ALL (%(only_others)s)"),
    "only_beyond": (
        "uuid[]",
        f"({rights.in_threads('e', '%(only_beyond)s')}) IS NOT TRUE",
    ),
    "only_facts": (
        "tsquery",
        """EXISTS (
            SELECT FROM entry_text nt
             WHERE nt.entry_id = e.id AND nt.tenant = %(tenant)s
               AND nt.tsv @@ %(only_facts)s::tsquery)""",
    ),
    "only_people": (
        "text[]",
        """EXISTS (
            SELECT FROM entry_finding nf
             WHERE nf.entry_id = e.id AND nf.tenant = %(tenant)s
               AND nf.stage = 'metadata' AND nf.people LIKE ANY (%(only_people)s))""",
    ),
    "only_dimension": (
        "text",
        """EXISTS (
            SELECT FROM entry_quantity nq
             WHERE nq.entry_id = e.id AND nq.tenant = %(tenant)s
               AND nq.dimension = %(only_dimension)s
               AND nq.value BETWEEN %(only_least)s AND %(only_most)s
               AND nq.name LIKE %(only_named)s)""",
    ),
    "only_not_people": (
        "text[]",
        """EXISTS (
            SELECT FROM entry_finding bf
             WHERE bf.entry_id = e.id AND bf.tenant = %(tenant)s
               AND bf.stage = 'metadata'
               AND NOT bf.people LIKE ANY (%(only_not_people)s))""",
    ),
    "only_not_sources": ("text[]", "e.source <> ALL (%(only_not_sources)s)"),
    "only_not_logbooks": ("text[]", "NOT e.logbooks && %(only_not_logbooks)s"),
    "only_not_threads": (
        "uuid[]",
        f"""(({rights.in_threads("e", "%(only_not_threads)s")}) IS NOT TRUE
            OR {rights.THREAD} IS NULL)""",
    ),
    # Letters of ASCII alone are alike in capitals, as OpenSearch has them.
    "only_source_part": (
        "text[]",
        """lower(e.source COLLATE "C") LIKE ANY (%(only_source_part)s)""",
    ),
    "only_logbook_part": (
        "text[]",
        """EXISTS (
            SELECT FROM unnest(e.logbooks) AS book (name)
             WHERE lower(book.name COLLATE "C") LIKE ANY (%(only_logbook_part)s))""",
    ),
    "only_parts": (
        "jsonb",
        """NOT EXISTS (
            SELECT FROM jsonb_to_recordset(%(only_parts)s::jsonb)
                        AS part (patterns text[])
             WHERE NOT EXISTS (
                   SELECT FROM entry_finding pf, unnest(pf.terms) AS known (term)
                    WHERE pf.entry_id = e.id AND pf.tenant = %(tenant)s
                      AND known.term LIKE ANY (part.patterns)))""",
    ),
    "only_ranges": (
        "jsonb",
        """NOT EXISTS (
            SELECT FROM jsonb_to_recordset(%(only_ranges)s::jsonb)
                        AS range (dimension text, least float8, most float8)
             WHERE NOT EXISTS (
                   SELECT FROM entry_quantity mq
                    WHERE mq.entry_id = e.id AND mq.tenant = %(tenant)s
                      AND mq.dimension = range.dimension
                      AND (range.least IS NULL OR mq.value >= range.least)
                      AND (range.most IS NULL OR mq.value <= range.most)))""",
    ),
}

# What is null where it does not narrow.
OPTIONAL = tuple(_CONDITIONS)

# For a statement that is prepared once, whatever is given.
NARROWED: LiteralString = "".join(
    [
        "\n       AND (%(" + name + ")s::" + kind + " IS NULL OR " + condition + ")"
        for name, (kind, condition) in _CONDITIONS.items()
    ]
)


def narrowed_by(params: Mapping[str, Any]) -> LiteralString:
    """Return the conditions of the filters given, for a statement planned each time.

    Behind an OR the planner guesses that half of all entries pass an EXISTS, and
    cannot begin with what it finds.
    """
    given = [
        "\n       AND " + condition
        for name, (_, condition) in _CONDITIONS.items()
        if params[name] is not None
    ]
    return "".join(given)


def narrows(params: Mapping[str, Any]) -> bool:
    """Tell whether filters let less than everything through."""
    return any(params[name] is not None for name in OPTIONAL)


# The types of these values where they stand in a row.
_COLUMNS: Mapping[LiteralString, LiteralString] = {
    **{
        name: "text" if kind in {"tsquery", "jsonb"} else kind
        for name, (kind, _) in _CONDITIONS.items()
    },
    "only_keys": "uuid[]",
    "only_least": "float8",
    "only_most": "float8",
    "only_named": "text",
}
# The parameters of a search without filters.
ANYTHING: Mapping[str, Any] = dict.fromkeys(_COLUMNS)


def _in_rows(condition: LiteralString) -> LiteralString:
    for name in _COLUMNS:
        condition = condition.replace("%(" + name + ")s", "field." + name)
    return condition


# Which of several sets of filters an entry passes, as marks beside its terms: the
# fields of a question, which AND, OR and NOT join with words.
MARKS: LiteralString = (
    """coalesce((
            SELECT array_to_tsvector(array_agg(field.mark))
              FROM jsonb_to_recordset(%(fields)s::jsonb)
                   AS field (mark text, """
    + ", ".join([name + " " + kind for name, kind in _COLUMNS.items()])
    + ") WHERE true"
    + _in_rows(NARROWED)
    + "), '')"
)
