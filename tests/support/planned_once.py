"""How the database carries out a statement that it plans once, whatever it is given."""

import re
from collections.abc import Sequence

from psycopg import Connection

from bench import work_rows

# Enough for the database to think of other ways than the one by index.
ENTRIES = 20_000


def fill_logbook(database: str, conn: Connection) -> None:
    """Write so many entries, each with the word `beam` and its number."""
    work_rows.ensure_entries(database, ENTRIES)
    conn.execute(
        "INSERT INTO entry_text (entry_id, tenant, revision, language,"
        "                        analyser_version, stream, idents, tsv)"
        " SELECT id, tenant, 1, 'en', 1, '', '{}',"
        "        to_tsvector('simple', 'beam ' || external_id)"
        "   FROM entry ON CONFLICT DO NOTHING"
    )
    conn.execute("ANALYZE entry, entry_text")


def explain_once(conn: Connection, statement: str, names: Sequence[str]) -> str:
    """Return the plan of a statement, made before its named values are known."""
    places = {name: f"${place}" for place, name in enumerate(names, 1)}
    numbered = re.sub(r"%\((\w+)\)s", lambda found: places[found[1]], statement)
    explained = f"EXPLAIN (GENERIC_PLAN, COSTS OFF) {numbered}".encode()
    return "\n".join(str(row[0]) for row in conn.execute(explained))
