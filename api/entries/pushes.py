"""A push: drafts admitted one by one, stored in one commit, nudged afterwards."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from pydantic import ValidationError

from api.caller_info import CallerInfo
from api.context import ApiContext
from api.entries.schemas.entries import EntriesIn, EntryIn
from api.server import metrics
from api.server.errors import invalid, tell_within
from shared.access import idempotency
from shared.access.scope import Scope
from shared.entries.draft import EntryDraft
from shared.entries.identity import source_uri
from shared.entries.saving import write_rights
from shared.entries.saving.entry_batch import Saved
from shared.entries.saving.save import save_page
from shared.entries.saving.validate import PushRules
from shared.errors import GoneError, InvalidRequestError, LogchordError, NotFoundError
from shared.postgres.pool import Connection, connection
from shared.stages import entry_stages
from shared.text import door

_PURGED = "An entry of this name was purged; it stays away, whoever sends it."


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer to a push, stored so that a repeat gets the same."""

    status: int
    body: dict[str, Any]

    @property
    def entry_ids(self) -> list[UUID]:
        """Return the entries that were taken in."""
        items = self.body.get("items", [self.body])
        return [UUID(one["entry_id"]) for one in items if one.get("entry_id")]


def push(
    ctx: ApiContext,
    caller: CallerInfo,
    body: EntryIn | EntriesIn,
    asked: idempotency.Request | None,
) -> tuple[Verdict, bool]:
    """Store a push in one commit, then nudge; a repeat gets the same answer."""
    scope = caller.scope
    if isinstance(body, EntryIn):
        fields = body.model_dump()
        drafts = {0: admitted(PushRules(ctx.settings), fields, "", scope)}
        rejected: dict[int, LogchordError] = {}
    else:
        drafts, rejected = _judged(ctx, body, scope)
    with connection(ctx.pool) as conn:
        if asked is not None:
            kept = idempotency.begin(conn, asked)
            if kept is not None:
                return Verdict(kept["status"], kept["body"]), True
        hidden = write_rights.beyond(conn, scope, drafts.values())
        alone = isinstance(body, EntryIn) or body.atomic
        _refuse(hidden, NotFoundError, drafts, rejected, alone=alone)
        burying = write_rights.burying(conn, scope, drafts.values())
        _refuse(burying, _not_theirs, drafts, rejected, alone=alone)
        saved = save_page(
            conn,
            scope.tenant,
            list(drafts.values()),
            stages=first_stages(ctx),
            editor=scope.subject,
        )
        of_index = dict(zip(drafts, saved, strict=True))
        _refuse_purged(of_index, rejected, alone=alone)
        if isinstance(body, EntryIn):
            verdict = of_one(scope.tenant, saved[0])
        else:
            verdict = _of_many(scope.tenant, of_index, rejected)
        if asked is not None:
            kept = {"status": verdict.status, "body": verdict.body}
            idempotency.end(conn, asked, kept)
    after_commit(ctx, saved)
    return verdict, False


def store_one(
    ctx: ApiContext, conn: Connection, scope: Scope, draft: EntryDraft
) -> Saved:
    """Store one draft by the rules of a push, or raise; the caller commits."""
    if write_rights.beyond(conn, scope, [draft]):
        raise NotFoundError
    if write_rights.burying(conn, scope, [draft]):
        raise _not_theirs()
    (saved,) = save_page(
        conn, scope.tenant, [draft], stages=first_stages(ctx), editor=scope.subject
    )
    if saved.status == "purged":
        raise GoneError(_PURGED)
    return saved


def of_one(tenant: str, saved: Saved) -> Verdict:
    """Return the answer to a push of a single entry."""
    return Verdict(201 if saved.status == "created" else 200, _item(tenant, saved))


def _refuse(
    wrong: set[tuple[str, str]],
    error: Callable[[], LogchordError],
    drafts: dict[int, EntryDraft],
    rejected: dict[int, LogchordError],
    *,
    alone: bool,
) -> None:
    """Keep a key of some logbooks from editing or burying what stands in others."""
    for index, draft in list(drafts.items()):
        if draft.identity in wrong:
            if alone:
                raise error()
            rejected[index] = error()
            del drafts[index]


def _not_theirs() -> InvalidRequestError:
    # The same whether it is absent or in a logbook that they do not know of.
    message = "links: there is nothing of this name that this key may supersede."
    return InvalidRequestError.field("links", "not_theirs", message)


def _refuse_purged(
    saved: dict[int, Saved], rejected: dict[int, LogchordError], *, alone: bool
) -> None:
    """Reject entries that were purged before, and so were not stored."""
    for index, one in list(saved.items()):
        if one.status == "purged":
            if alone:
                raise GoneError(_PURGED)
            rejected[index] = GoneError(_PURGED)
            del saved[index]


def _judged(
    ctx: ApiContext, body: EntriesIn, scope: Scope
) -> tuple[dict[int, EntryDraft], dict[int, LogchordError]]:
    most = ctx.settings.max_batch_entries
    if len(body.entries) > most:
        message = f"entries: one request may hold {most}."
        raise InvalidRequestError.field("entries", "too_many", message)
    rules = PushRules(ctx.settings)
    drafts: dict[int, EntryDraft] = {}
    rejected: dict[int, LogchordError] = {}
    for index, raw in enumerate(body.entries):
        path = f"entries.{index}"
        try:
            door.check_tree(raw, path)
            fields = EntryIn.model_validate(raw).model_dump()
            drafts[index] = admitted(rules, fields, path, scope)
        except ValidationError as exc:
            located = [
                {**one, "loc": ("body", "entries", index, *one["loc"])}
                for one in exc.errors()
            ]
            rejected[index] = invalid(located, EntryIn, within=3)
        except LogchordError as exc:
            rejected[index] = exc
    if rejected and body.atomic:
        raise next(iter(rejected.values()))
    return drafts, rejected


def admitted(
    rules: PushRules, fields: dict[str, Any], path: str, scope: Scope
) -> EntryDraft:
    """Return the draft of one entry that this caller may write, or raise."""
    draft = rules.draft(fields, path)
    write_rights.check(scope, draft)
    return draft


def _of_many(
    tenant: str, saved: dict[int, Saved], rejected: dict[int, LogchordError]
) -> Verdict:
    items: list[dict[str, Any]] = []
    for index in sorted({*saved, *rejected}):
        if index in rejected:
            error = tell_within(rejected[index])
            items.append({"index": index, "status": "rejected", "error": error})
        else:
            items.append({"index": index, **_item(tenant, saved[index])})
    counts = dict.fromkeys(("created", "updated", "unchanged", "rejected"), 0)
    for one in items:
        counts[one["status"]] += 1
    return Verdict(200, {"items": items, "counts": counts})


def _item(tenant: str, saved: Saved) -> dict[str, Any]:
    return {
        "entry_id": str(saved.entry_id),
        "source_uri": source_uri(tenant, saved.source, saved.external_id),
        "revision": saved.revision,
        "status": saved.status,
    }


def first_stages(ctx: ApiContext) -> tuple[str, ...]:
    """Return the stages that a new entry begins with."""
    return entry_stages.list_entry_stages(ctx.settings)


def after_commit(ctx: ApiContext, saved: Sequence[Saved]) -> None:
    """Nudge the stages that are due now, and count what came in."""
    changed = [one for one in saved if one.status in {"created", "updated"}]
    ids = list(dict.fromkeys(one.entry_id for one in changed))
    if ids:
        for stage in first_stages(ctx):
            ctx.nudger.nudge(stage, ids)
    for one in saved:
        metrics.ingested(one.source, one.status, 1)
