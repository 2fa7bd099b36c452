"""Finds the keys of metadata that entries have, where a filter is called by a key."""

import json
from collections.abc import Collection
from typing import LiteralString

from psycopg import Connection

from shared.access import rights
from shared.access.scope import Scope
from shared.text import facts
from shared.text.analysis.analyser import quote_lexeme
from shared.text.facts import MARK

# How many keys are looked up at most: no entry has so many.
MAX_KEYS = 64

# A value under a key is a term of the entry that begins with the key.
_HAVING: LiteralString = f"""
    SELECT asked.name
      FROM jsonb_to_recordset(%(asked)s::jsonb) AS asked (name text, query text)
     WHERE EXISTS (
           SELECT FROM entry_text t
             JOIN entry e ON e.id = t.entry_id
            WHERE t.tenant = %(tenant)s AND e.tenant = %(tenant)s
              AND e.deleted_at IS NULL AND t.tsv @@ asked.query::tsquery{rights.SEEN})
     ORDER BY asked.name
     LIMIT 64"""


def select_known_keys(
    conn: Connection, scope: Scope, names: Collection[str]
) -> list[str]:
    """Return those of these keys that a visible entry has."""
    asked = [{"name": name, "query": _query(name)} for name in sorted(names)]
    given = {**scope.params, "asked": json.dumps(asked[:MAX_KEYS])}
    return [name for (name,) in conn.execute(_HAVING, given, prepare=False)]


def _query(name: str) -> str:
    return quote_lexeme(f"{MARK}{facts.metadata_field(name)}{facts.SIGNS[0]}") + ":*"
