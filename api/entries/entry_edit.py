"""One entry written by its address: replaced whole, merged, or made if absent."""

import json
from collections.abc import Callable, Iterable
from dataclasses import replace as replace_fields
from typing import Any
from uuid import UUID

from pydantic import ValidationError

from api.caller_info import CallerInfo
from api.context import ApiContext
from api.entries import pushes
from api.entries.entry_bodies import names
from api.entries.pushes import Verdict
from api.entries.schemas.entries import EntryIn
from api.server.errors import invalid
from shared import entry_fields
from shared.access.scope import Scope
from shared.entries import entry_links
from shared.entries.draft import EntryDraft
from shared.entries.reading import read_entries
from shared.entries.reading.read_entries import EntryView
from shared.entries.saving import write_rights
from shared.entries.saving.entry_batch import Saved
from shared.entries.saving.validate import PushRules
from shared.errors import InvalidRequestError, NotFoundError
from shared.postgres.pool import Connection, connection
from shared.sources.source_state import refuse_polled
from shared.times.rfc3339 import timestamp

_PLAIN = (
    *("source", "external_id", "title", "text", "text_format", "authors", "logbooks"),
    *("kind", *entry_fields.NAMES, "tags", "metadata", "reply_to", "url"),
    *("readers", "origin"),
)
_TIMES = ("entry_time", "event_time", "visible_from")
# What may be given as one stands in the entry as several.
_ONE_OF_MANY = {"author": "authors", "logbook": "logbooks"}


def replace(
    ctx: ApiContext,
    caller: CallerInfo,
    entry_id: UUID,
    body: EntryIn,
    if_match: str | None,
) -> Verdict:
    """Replace an entry as a whole."""

    def whole(entry: EntryView, conn: Connection) -> dict[str, Any]:
        fields = _addressed(body, entry.source, entry.external_id)
        return fields | _out_of_sight(conn, caller.scope, entry, body)

    return _edit(ctx, caller, entry_id, whole, if_match)


def merge(
    ctx: ApiContext,
    caller: CallerInfo,
    entry_id: UUID,
    patch: dict[str, Any],
    if_match: str | None,
) -> Verdict:
    """Change what the patch names, as RFC 7396 says, and leave the rest."""

    def merged(entry: EntryView, conn: Connection) -> dict[str, Any]:
        before = as_sent(
            entry, entry_links.list_named_links(conn, entry.tenant, entry.entry_id)
        )
        after = patched(before, patch)
        fields = _addressed(validated(after), entry.source, entry.external_id)
        # A number may come back from the database written in another way.
        return {} if _canonical(before) == _canonical(after) else fields

    return _edit(ctx, caller, entry_id, merged, if_match)


def put(
    ctx: ApiContext,
    caller: CallerInfo,
    name: tuple[str, str],
    body: EntryIn,
    if_match: str | None,
) -> Verdict:
    """Put an entry under its source's own id, whether there was one or not."""
    scope = caller.scope
    fields = _addressed(body, *name)
    draft = pushes.admitted(PushRules(ctx.settings), fields, "", scope)
    with connection(ctx.pool) as conn:
        entry = read_entries.get_by_external_id(conn, scope, *name)
        if if_match is not None:
            held = entry and _held(conn, scope, entry)
            if held is None:
                message = "There is no entry of this name yet."
                raise InvalidRequestError(message, code="revision_mismatch")
            _check_match(held, if_match)
            saved = _put(ctx, conn, scope, held, draft, body)
        else:
            # Most meet nobody: the source is ours alone only where somebody came first.
            with conn.transaction() as first:
                saved = _put(ctx, conn, scope, entry, draft, body)
                first.force_rollback = has_met = _has_met(entry, saved)
            if has_met:
                entry_links.lock(conn, scope.tenant, draft.source)
                entry = read_entries.get_by_external_id(conn, scope, *name)
                saved = _put(ctx, conn, scope, entry, draft, body)
    pushes.after_commit(ctx, [saved])
    return pushes.of_one(scope.tenant, saved)


def as_sent(entry: EntryView, linked: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Return the entry as a program would have pushed it, with the links it names."""
    fields = {name: getattr(entry, name) for name in _PLAIN}
    fields |= {name: timestamp(getattr(entry, name)) for name in _TIMES}
    named = [{"kind": kind, "external_id": other} for kind, other in linked]
    return fields | {"links": named}


def patched(before: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """Return the merged document; a name that no entry has stays, to be refused."""
    given = {many for one, many in _ONE_OF_MANY.items() if patch.get(one) is not None}
    base = {name: value for name, value in before.items() if name not in given}
    unknown = {name: patch[name] for name in patch if name not in EntryIn.model_fields}
    return {**_merged(base, patch), **unknown}


def validated(document: dict[str, Any]) -> EntryIn:
    """Return the entry made of a merged document, or raise naming the wrong field."""
    try:
        return EntryIn.model_validate(document)
    except ValidationError as exc:
        located = [{**one, "loc": ("body", *one["loc"])} for one in exc.errors()]
        raise invalid(located, EntryIn) from exc


def _merged(target: object, patch: object) -> Any:
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = _merged(result.get(name), value)
    return result


def _addressed(body: EntryIn, source: str, external_id: str) -> dict[str, Any]:
    """Return the fields of a body, which names no other entry than its address."""
    of_address = {"source": source, "external_id": external_id}
    for name, value in of_address.items():
        given = getattr(body, name)
        if name in body.model_fields_set and given not in {None, value}:
            message = f"{name} is another than that of the address."
            raise InvalidRequestError.field(name, "another_entry", message)
    return body.model_dump() | of_address


def _put(
    ctx: ApiContext,
    conn: Connection,
    scope: Scope,
    entry: EntryView | None,
    draft: EntryDraft,
    body: EntryIn,
) -> Saved:
    kept: dict[str, Any] = {}
    if entry is not None and entry.deleted_at is None:
        kept = _out_of_sight(conn, scope, entry, body)
    return pushes.store_one(ctx, conn, scope, replace_fields(draft, **kept))


def _has_met(entry: EntryView | None, saved: Saved) -> bool:
    """Tell whether another wrote it since the look: its parent may be another, too."""
    if saved.status != "updated":
        return False
    return entry is None or saved.revision > entry.revision + 1


def _out_of_sight(
    conn: Connection, scope: Scope, entry: EntryView, body: EntryIn
) -> dict[str, Any]:
    """Keep a parent that is hidden from the caller, who cannot mean to drop it."""
    parent = entry.reply_to
    if body.reply_to or not parent:
        return {}
    shown = entry_links.select_visible(conn, scope, [(entry.source, parent)])
    return {} if shown else {"reply_to": parent}


def _edit(
    ctx: ApiContext,
    caller: CallerInfo,
    entry_id: UUID,
    fields_of: Callable[[EntryView, Connection], dict[str, Any]],
    if_match: str | None,
) -> Verdict:
    """Write what becomes of an entry that nobody else can change meanwhile."""
    scope = caller.scope
    with connection(ctx.pool) as conn:
        found = read_entries.load_entry(conn, scope, entry_id)
        if found is None:
            raise NotFoundError
        refuse_polled(conn, ctx.settings.sources, found.source)
        entry = _held(conn, scope, found)
        if entry is None:
            raise NotFoundError
        _check_match(entry, if_match)
        saved = _saved(ctx, conn, scope, entry, fields_of(entry, conn))
    pushes.after_commit(ctx, [saved])
    return pushes.of_one(scope.tenant, saved)


def _saved(
    ctx: ApiContext,
    conn: Connection,
    scope: Scope,
    entry: EntryView,
    fields: dict[str, Any],
) -> Saved:
    if not fields:
        return Saved(
            entry.entry_id, entry.source, entry.external_id, entry.revision, "unchanged"
        )
    draft = pushes.admitted(PushRules(ctx.settings), fields, "", scope)
    if (draft.entry_time, draft.event_time) == (entry.entry_time, entry.event_time):
        # What was odd about a wall time cannot be told from its moment.
        draft = replace_fields(draft, flags=tuple(entry.flags))
    return pushes.store_one(ctx, conn, scope, draft)


def _held(conn: Connection, scope: Scope, found: EntryView) -> EntryView | None:
    """Return the entry as it is now and stays until the transaction ends."""
    # In the order in which a page takes them, and alone from the start: two that
    # shared the source and both wanted it alone would wait for each other.
    entry_links.lock(conn, scope.tenant, found.source)
    write_rights.hold(conn, scope, found.entry_id)
    entry = read_entries.load_entry(conn, scope, found.entry_id)
    return None if entry is None else read_entries.require_entry(entry)


def _check_match(entry: EntryView, if_match: str | None) -> None:
    if if_match is not None and not names(if_match, entry.revision):
        message = f"The entry is at revision {entry.revision} by now."
        raise InvalidRequestError(message, code="revision_mismatch")


def _canonical(document: dict[str, Any]) -> str:
    return json.dumps(document, sort_keys=True)
