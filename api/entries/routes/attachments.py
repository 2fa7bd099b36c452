"""Files beside entries: listed, sent, and given back as bytes that nobody runs."""

import re
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager
from typing import Any
from urllib.parse import quote
from uuid import UUID

from fastapi import Request, Response
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.responses import StreamingResponse

from api.context import Caller, Ctx
from api.entries.schemas.attachments import (
    AttachmentList,
    AttachmentOut,
    attachment_out,
    inline_out,
)
from api.entries.uploads import Upload
from api.server.byte_ranges import read_range
from api.server.errors import CarriedError
from api.server.json_response import as_json
from api.server.parameters import IdempotencyKey
from api.strict_route import audited, described, strict_router
from shared.enrich.attachments import attachment_states
from shared.enrich.attachments.file_store import FileStore
from shared.enrich.attachments.file_type import OCTETS, SHOWN_TYPES, shown_type
from shared.entries.reading import inline_images, read_entries
from shared.entries.saving import attachment_rows
from shared.entries.saving.attachment_rows import Attached
from shared.errors import (
    GoneError,
    IngestionError,
    InvalidRequestError,
    NotFoundError,
    Severity,
    SourceUnreachableError,
)
from shared.postgres.pool import connection

router = strict_router("/v1", "attachments")

_MULTIPART = "multipart/form-data"
_PIECE = 262_144
_CHARSET = re.compile(r"(?i)\bcharset\s{0,9}=\s{0,9}\"?([^\";\s]{0,40})")
_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            _MULTIPART: {
                "schema": {
                    "type": "object",
                    "required": ["file"],
                    "additionalProperties": False,
                    "properties": {"file": {"type": "string", "format": "binary"}},
                }
            }
        },
    }
}
_BYTES: dict[str, Any] = {kind: {} for kind in (OCTETS, *sorted(SHOWN_TYPES))}
# Whatever it is, nobody runs it.
_INERT = {"Content-Security-Policy": "sandbox", "X-Content-Type-Options": "nosniff"}
_JPEG = "image/jpeg"


@router.get("/entries/{entry_id}/attachments")
@described("List the files of an entry", AttachmentList, 404, 410, scope="read")
def list_attachments(entry_id: UUID, caller: Caller, ctx: Ctx) -> Response:
    """Every file, those too that are still to be fetched or lie elsewhere."""
    with connection(ctx.pool) as conn:
        entry = read_entries.load_present_entry(conn, caller.scope, entry_id)
        found = attachment_rows.load_attachments(conn, caller.scope.tenant, [entry_id])
    files = found.get(entry_id, [])
    shown = inline_images.find_inline_images(entry.text, entry.text_format, files)
    items = [attachment_out(one) for one in files]
    return as_json({"items": items, "inline": inline_out(shown), "next_cursor": None})


@router.post("/entries/{entry_id}/attachments")
@described(
    "Attach a file to an entry",
    AttachmentOut,
    *(404, 409, 410, 502),
    scope="ingest",
    also={200: {"model": AttachmentOut, "description": "It was attached before."}},
    status_code=201,
    openapi_extra=_BODY,
)
async def post_attachment(
    entry_id: UUID,
    request: Request,
    caller: Caller,
    ctx: Ctx,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Answer once the file is stored and named; an archive is looked through first."""
    await ctx.uploads.check(caller.scope, entry_id)
    async with _sent(request) as sent:
        taken = await ctx.uploads.take(caller.scope, entry_id, sent, idempotency_key)
    headers = {"Idempotency-Replayed": "true"} if taken.replayed else None
    return as_json(taken.body, taken.status, headers)


@router.get("/attachments/{attachment_id}")
@described(
    "Read a file",
    None,
    *(404, 410, 416, 502),
    scope="read",
    also={
        200: {
            "description": "Its bytes, never to be shown in place.",
            "content": _BYTES,
        },
        206: {"description": "Those that `Range` asks for.", "content": _BYTES},
    },
    response_class=StreamingResponse,
)
@audited("read")
def get_attachment(
    attachment_id: UUID, request: Request, caller: Caller, ctx: Ctx
) -> Response:
    """The bytes as they are stored; only four kinds of pictures keep their type.

    `Range` with one part, and `If-Range` with the `ETag`, go on where something broke.
    """
    with connection(ctx.pool) as conn:
        found = attachment_states.one(conn, caller.scope, attachment_id)
    if found is None:
        raise NotFoundError
    one, is_deleted = found
    if is_deleted:
        raise GoneError
    if one.state != "stored" or one.sha256 is None or one.size is None:
        raise _not_here(one)
    etag = f'"{one.sha256.hex()}"'
    asked = read_range(request.headers, one.size, etag)
    part = range(one.size) if asked is None else asked
    headers = {
        "Content-Disposition": _disposition(one.filename),
        "Content-Length": str(len(part)),
        "Accept-Ranges": "bytes",
        "ETag": etag,
        **_INERT,
    }
    if asked is not None:
        headers["Content-Range"] = f"bytes {part.start}-{part.stop - 1}/{one.size}"
    pieces = _opened(ctx.uploads.store, one.sha256, one.size, part)
    media_type = shown_type(one.media_type)
    status = 200 if asked is None else 206
    return StreamingResponse(pieces, status, headers, media_type)


@router.get("/attachments/{attachment_id}/thumbnail")
@described(
    "Read the small picture of a file",
    None,
    *(404, 410),
    scope="read",
    also={200: {"description": "A JPEG of our own making.", "content": {_JPEG: {}}}},
)
@audited("read")
def get_thumbnail(attachment_id: UUID, caller: Caller, ctx: Ctx) -> Response:
    """The picture made smaller, without what stood beside its pixels."""
    with connection(ctx.pool) as conn:
        found = attachment_states.thumbnail(conn, caller.scope, attachment_id)
    if found is None:
        raise NotFoundError
    picture, is_deleted = found
    if is_deleted:
        raise GoneError
    headers = {"Content-Disposition": 'attachment; filename="thumbnail.jpg"', **_INERT}
    return Response(picture, headers=headers, media_type=_JPEG)


@asynccontextmanager
async def _sent(request: Request) -> AsyncIterator[Upload]:
    """Read the form to its end, its file into a place without a name."""
    kind, _, options = request.headers.get("content-type", "").partition(";")
    charset = _CHARSET.search(options)
    # Some names of charsets make the framework's parser raise what it does not expect.
    is_known = charset is None or charset[1].lower() in {"utf-8", "utf8"}
    if kind.strip().lower() != _MULTIPART or not is_known:
        message = f"The body must be {_MULTIPART}, in UTF-8, with one field `file`."
        raise InvalidRequestError(message, code="unsupported_media_type")
    try:
        form = await request.form(max_files=1, max_fields=0)
    except CarriedError:
        raise
    except HTTPException as exc:
        message = f"The form cannot be read: {exc.detail}"
        raise InvalidRequestError.field("file", "form_invalid", message) from exc
    try:
        sent = form.get("file")
        if not isinstance(sent, UploadFile):
            message = "The form needs one field, `file`, with a filename."
            raise InvalidRequestError.field("file", "missing", message)
        yield Upload(sent.file, sent.filename or "", sent.content_type)
    finally:
        await form.close()


def _opened(store: FileStore, sha256: bytes, size: int, part: range) -> Iterator[bytes]:
    """Open a file before anything is answered; it is closed when it has been read."""
    if not store.has(sha256, size):
        message = "The file is not in the store of attached files."
        raise SourceUnreachableError(message, reason="not_in_store")
    with ExitStack() as opening:
        file = opening.enter_context(store.open(sha256))
        file.seek(part.start)
        opened = opening.pop_all()

    def pieces() -> Iterator[bytes]:
        with opened:
            for begin in range(part.start, part.stop, _PIECE):
                yield file.read(min(_PIECE, part.stop - begin))

    return pieces()


def _not_here(one: Attached) -> IngestionError:
    if one.state == "due":
        message = "The file is still to be fetched from its source; try again shortly."
        return SourceUnreachableError(message, reason="due", retry_after_seconds=5)
    where = f"; it is at {one.url}" if one.url else ""
    error = SourceUnreachableError(f"The file is not here{where}.", reason=one.state)
    error.severity, error.retriable = Severity.CRITICAL, False
    return error


def _disposition(filename: str) -> str:
    """Name the file to whoever saves it, whatever stands in its name."""
    plain = "".join(
        char if char.isascii() and char.isprintable() and char not in '"\\/%' else "_"
        for char in filename[:200]
    )
    whole = quote(filename[:1000], safe="", errors="replace")
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{whole}"
