"""What people call an entry: by key, by address, or by its facility's own number."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import LiteralString
from urllib.parse import unquote
from uuid import UUID

from psycopg import Connection

from shared.entries import identity
from shared.postgres.fetch_rows import fetch_all

_PERMALINK = "/e/"
REVISION = re.compile(r"@([1-9][0-9]{0,9})\Z")

_OF_TENANT: LiteralString = """
    SELECT e.id AS entry_id, e.source, e.external_id
      FROM entry e
     WHERE e.tenant = %(tenant)s"""
_BY_ID: LiteralString = _OF_TENANT + " AND e.id = %(entry_id)s"
_BY_NAME: LiteralString = f"""{_OF_TENANT}
       AND e.source = %(source)s AND e.external_id = %(external_id)s"""
_BY_NUMBER: LiteralString = f"""{_OF_TENANT} AND e.external_id = %(external_id)s
     ORDER BY e.source
     LIMIT 20"""


@dataclass(frozen=True, slots=True)
class Ref:
    """An entry that was meant; without an `entry_id` it is only a name."""

    source: str
    external_id: str
    entry_id: UUID | None = None
    # The one that a permalink names; None: the newest.
    revision: int | None = None


def find(conn: Connection, tenant: str, ref: str) -> list[Ref]:
    """Return the entries that a ref means; a bare number may mean several."""
    values: dict[str, object] = {"tenant": tenant, "external_id": ref}
    try:
        values["entry_id"] = UUID(ref)
        found = fetch_all(conn, Ref, _BY_ID, values)
    except ValueError:
        found = []
    for name in names(tenant, ref):
        if not found:
            named = {"source": name.source, "external_id": name.external_id}
            rows = fetch_all(conn, Ref, _BY_NAME, {**values, **named})
            found = [replace(one, revision=name.revision) for one in rows]
    return found or fetch_all(conn, Ref, _BY_NUMBER, values)


def find_cited(conn: Connection, tenant: str, ref: str) -> list[Ref]:
    """Return the entries that a ref means, also with the revision of a citation."""
    bare, revision = split_pin(ref)
    found = find(conn, tenant, ref)
    if found or revision is None:
        return found
    return [replace(one, revision=revision) for one in find(conn, tenant, bare)]


def split_pin(ref: str) -> tuple[str, int | None]:
    """Return a ref without the revision behind it, as a citation has it, and that.

    An `@` may be part of a name, so that the whole of it is looked for first.
    """
    pinned = REVISION.search(ref)
    return (ref[: pinned.start()], int(pinned[1])) if pinned else (ref, None)


def names(tenant: str, ref: str) -> Iterator[Ref]:
    """Yield the identities that a ref spells out, whether there is such an entry."""
    if ref.startswith(identity.URI):
        found = identity.parse_source_uri(ref)
        if found is not None and found.tenant == tenant:
            yield Ref(found.source, found.external_id)
        return
    address = ref.partition("?")[0].partition("#")[0]
    if _PERMALINK in address:
        source, _, rest = address.partition(_PERMALINK)[2].partition("/")
        if source and rest:
            external_id, revision = split_pin(rest)
            yield Ref(unquote(source), unquote(external_id), revision=revision)
    source, slash, external_id = ref.partition("/")
    if slash and source and external_id:
        yield Ref(source, external_id)
