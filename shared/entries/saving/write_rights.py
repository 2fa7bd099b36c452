"""What a caller may write: a key of some logbooks never touches the others."""

from collections.abc import Collection, Iterable
from typing import LiteralString
from uuid import UUID

from psycopg import Connection

from shared.access.scope import Scope
from shared.entries import entry_links
from shared.entries.draft import EntryDraft
from shared.errors import AccessError

# Readers do not count here: whoever pushes for a group need not belong to it.
_BEYOND: LiteralString = """
    SELECT e.source, e.external_id
      FROM entry e
      JOIN unnest(%(sources)s::text[], %(external_ids)s::text[])
           AS asked (source, external_id)
        ON e.source = asked.source AND e.external_id = asked.external_id
     WHERE e.tenant = %(tenant)s AND NOT e.logbooks && %(logbooks)s::text[]"""

# What an entry has superseded before, it may go on naming.
_BURYING: LiteralString = """
    SELECT asked.source, asked.external_id
      FROM unnest(%(sources)s::text[], %(external_ids)s::text[], %(targets)s::text[])
           AS asked (source, external_id, target)
     WHERE NOT EXISTS (
           SELECT FROM entry old
            WHERE old.tenant = %(tenant)s AND old.source = asked.source
              AND old.external_id = asked.target
              AND old.logbooks && %(logbooks)s::text[])
       AND NOT EXISTS (
           SELECT FROM entry_link l
             JOIN entry e ON e.id = l.entry_id
            WHERE l.tenant = %(tenant)s AND l.source = asked.source
              AND l.kind = 'supersedes' AND l.target = asked.target
              AND e.external_id = asked.external_id)"""

_HOLD: LiteralString = """
    SELECT id FROM entry WHERE id = %(entry_id)s AND tenant = %(tenant)s FOR UPDATE"""


def check(scope: Scope, draft: EntryDraft) -> None:
    """Raise unless the caller's key may write into every logbook of the draft."""
    if scope.logbooks is None:
        return
    wrong = sorted(set(draft.logbooks) - set(scope.logbooks))
    if wrong or not draft.logbooks:
        # A key may hold an empty list: it writes to no logbook at all.
        needed = f"logbook:{(*wrong, *scope.logbooks, '*')[0]}"
        message = f"This key writes to {', '.join(scope.logbooks) or 'nothing'} only."
        raise AccessError(message, code="scope_missing", details={"needed": needed})


def beyond(
    conn: Connection, scope: Scope, drafts: Iterable[EntryDraft]
) -> set[tuple[str, str]]:
    """Return the identities that stand in logbooks which the caller's key may not."""
    if scope.logbooks is None:
        return set()
    identities = [draft.identity for draft in drafts]
    values = {
        "tenant": scope.tenant,
        "logbooks": list(scope.logbooks),
        "sources": [source for source, _ in identities],
        "external_ids": [external_id for _, external_id in identities],
    }
    return {(row[0], row[1]) for row in conn.execute(_BEYOND, values)}


def burying(
    conn: Connection, scope: Scope, drafts: Collection[EntryDraft]
) -> set[tuple[str, str]]:
    """Return the identities that supersede what the caller's key may not edit.

    What stands nowhere yet is not theirs to bury either, when it comes. The sources of
    the drafts are locked, so that it holds until the transaction ends.
    """
    asked = [one for one in drafts if one.supersedes not in {None, one.external_id}]
    if scope.logbooks is None or not asked:
        return set()
    for source in sorted({one.source for one in drafts}):
        entry_links.lock(conn, scope.tenant, source)
    values = {
        "tenant": scope.tenant,
        "logbooks": list(scope.logbooks),
        "sources": [one.source for one in asked],
        "external_ids": [one.external_id for one in asked],
        "targets": [one.supersedes for one in asked],
    }
    wrong = {(row[0], row[1]) for row in conn.execute(_BURYING, values)}
    # What comes beside it in the same push is theirs, unless that is refused itself.
    comes = {one.identity for one in drafts if one.identity not in wrong}
    kept = True
    while kept:
        saved = {
            one.identity
            for one in asked
            if one.identity in wrong and (one.source, one.supersedes) in comes
        }
        wrong, comes, kept = wrong - saved, comes | saved, bool(saved)
    return wrong


def hold(conn: Connection, scope: Scope, entry_id: UUID) -> None:
    """Keep an entry as it is now until the transaction ends; read it afterwards."""
    conn.execute(_HOLD, {"entry_id": entry_id, "tenant": scope.tenant})
