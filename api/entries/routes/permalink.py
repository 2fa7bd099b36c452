"""The address of an entry that survives a rebuild from its source."""

from typing import Annotated
from urllib.parse import unquote

from fastapi import Header, Request, Response

from api.context import Caller, Ctx, needs
from api.entries.entry_amount import WholeAmount
from api.entries.entry_bodies import MAX_REVISION, NOT_CHANGED, answer
from api.entries.schemas.entries import EntryOut
from api.strict_route import audited, described, strict_router
from shared.entries.reading import read_entries
from shared.entries.refs import REVISION
from shared.postgres.pool import connection

router = strict_router("/e", "entries", needs("read"))

TWIN = b".json"


@router.get("/{source}/{external_id:path}")
@described("Read one entry by its permalink", EntryOut, 404, 410, also=NOT_CHANGED)
@audited("read")
def get_permalink(
    source: str,
    external_id: str,
    request: Request,
    caller: Caller,
    ctx: Ctx,
    amount: WholeAmount,
    if_none_match: Annotated[str | None, Header()] = None,
) -> Response:
    """The newest revision, or after an `@` the one that is named."""
    del external_id
    name, revision = parse_permalink(request, ctx.settings.base_path)
    with connection(ctx.pool) as conn:
        entry = read_entries.get_by_external_id(conn, caller.scope, source, name)
        if entry is None and request.scope["raw_path"].endswith(TWIN):
            # As of every page: the same address with `.json`.
            name, revision = parse_permalink(request, ctx.settings.base_path, TWIN)
            entry = read_entries.get_by_external_id(conn, caller.scope, source, name)
        return answer(ctx, conn, caller.scope, entry, revision, if_none_match, amount)


def parse_permalink(
    request: Request, base_path: str, without: bytes = b""
) -> tuple[str, int | None]:
    """Return external id and revision; an `@` of the id itself is written `%40`."""
    raw: bytes = request.scope["raw_path"]
    rest = raw.removesuffix(without).decode("ascii", "replace")
    rest = rest.removeprefix(f"{base_path}/e/")
    # The second part: a slash of the source's name is percent-encoded.
    rest = rest.partition("/")[2]
    found = REVISION.search(rest)
    if found is None or int(found[1]) > MAX_REVISION:
        return unquote(rest), None
    return unquote(rest[: found.start()]), int(found[1])
