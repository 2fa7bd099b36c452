"""A push of any length: a line an entry, a commit every 500, verdicts as they fall."""

import json
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from fastapi import Request
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from api.caller_info import CallerInfo
from api.context import ApiContext
from api.entries import pushes
from api.entries.schemas.entries import EntriesIn
from api.server import thread_pool
from api.server.errors import tell_within
from shared.errors import InvalidRequestError, LogchordError
from shared.text import door

MEDIA_TYPE = "application/x-ndjson"
_SCHEMAS = "#/components/schemas/"
# OpenAPI 3.1 has no words for a document a line: the schema is that of each line.
BODY = {
    "schema": {
        "type": "string",
        "description": "An `EntryIn` a line, of any number; no `atomic`, no key.",
        "contentMediaType": MEDIA_TYPE,
        "contentSchema": {"$ref": f"{_SCHEMAS}EntryIn"},
    },
    "example": '{"external_id": "OPS-78", "text": "Cavity 2 is back."}\n'
    '{"external_id": "OPS-79", "text": "Handover.", "logbook": "Operations"}\n',
}
ANSWER = {
    "schema": {
        "type": "string",
        "description": "A `PushedItem` a line as each is committed, then the counts;"
        " an `ErrorBody` before them if it ended early.",
        "contentMediaType": MEDIA_TYPE,
        "contentSchema": {
            "anyOf": [
                {"$ref": f"{_SCHEMAS}PushedItem"},
                {
                    "type": "object",
                    "properties": {"counts": {"type": "object"}},
                    "required": ["counts"],
                },
                {"$ref": f"{_SCHEMAS}ErrorBody"},
            ]
        },
    },
    "example": '{"index": 0, "entry_id": "019cb1d0-5f2e-7c51-a2c4-3d0f6b7a9e10",'
    ' "source_uri": "logchord:default/api/OPS-78", "revision": 1,'
    ' "status": "created"}\n'
    '{"counts": {"created": 1, "updated": 0, "unchanged": 0, "rejected": 0}}\n',
}
_LINES_AT_ONCE = 500
# Fewer are committed at once when they are long.
_BYTES_AT_ONCE = 4_000_000


@dataclass(slots=True)
class _PushLine:
    """One line of the body, by its number among those that are not blank."""

    index: int
    # None: longer than any entry may be, and not kept.
    text: bytes | None


class _VerdictStream(StreamingResponse):
    """An answer that is written while the body is still being read."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer while somebody else reads the body.

        The framework would wait for the caller's farewell by receiving, too, and so
        swallow parts of the body.
        """
        del scope, receive
        await self.stream_response(send)


def answer(request: Request, ctx: ApiContext, caller: CallerInfo) -> StreamingResponse:
    """Return the answer, which begins before the body has ended."""
    if "idempotency-key" in request.headers:
        message = "A push by lines is idempotent by `external_id`, not by a key."
        raise InvalidRequestError.field("Idempotency-Key", "not_here", message)
    ctx.backlog.check()
    return _VerdictStream(_verdicts(request, ctx, caller), media_type=MEDIA_TYPE)


async def _verdicts(
    request: Request, ctx: ApiContext, caller: CallerInfo
) -> AsyncIterator[bytes]:
    counts = Counter(dict.fromkeys(("created", "updated", "unchanged", "rejected"), 0))
    try:
        async for batch in _batches(request, ctx):
            items = await thread_pool.run_step(_push, ctx, caller, batch)
            counts.update(str(one["status"]) for one in items)
            yield b"".join(_as_line(one) for one in items)
            ctx.backlog.check()
    except LogchordError as exc:
        # The answer has begun: what it has not told of was not taken in.
        yield _as_line({"error": tell_within(exc)})
    yield _as_line({"counts": dict(counts)})


def _push(
    ctx: ApiContext, caller: CallerInfo, batch: list[_PushLine]
) -> list[dict[str, Any]]:
    """Commit what can be read of a batch; return one verdict a line, in order."""
    verdicts: dict[int, dict[str, Any]] = {}
    read: list[tuple[int, Any]] = []
    for line in batch:
        try:
            read.append((line.index, _document(line, ctx)))
        except LogchordError as exc:
            verdicts[line.index] = {"status": "rejected", "error": tell_within(exc)}
    if read:
        body = EntriesIn(entries=[one for _, one in read])
        verdict, _ = pushes.push(ctx, caller, body, None)
        for item in verdict.body["items"]:
            verdicts[read[item.pop("index")][0]] = item
    return [{"index": line.index, **verdicts[line.index]} for line in batch]


def _document(line: _PushLine, ctx: ApiContext) -> dict[str, Any]:
    if line.text is None:
        message = f"A line may have {_longest(ctx)} bytes."
        raise InvalidRequestError(message, code="body_too_large")
    value = door.parse_json(line.text, max_values=door.MAX_JSON_VALUES)
    if not isinstance(value, dict):
        message = "A line holds one entry, which is an object."
        raise InvalidRequestError.field("", "dict_type", message)
    return value


async def _batches(request: Request, ctx: ApiContext) -> AsyncIterator[list[_PushLine]]:
    batch: list[_PushLine] = []
    size = 0
    async for line in _lines(request, _longest(ctx)):
        batch.append(line)
        size += len(line.text or b"")
        if len(batch) >= _LINES_AT_ONCE or size >= _BYTES_AT_ONCE:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


async def _lines(request: Request, longest: int) -> AsyncIterator[_PushLine]:
    """Yield the lines; of one that is too long nothing is kept."""
    kept = bytearray()
    index, overlong = 0, False
    async for chunk in request.stream():
        *ended, rest = chunk.split(b"\n")
        for part in ended:
            if not overlong:
                kept += part
            overlong = overlong or len(kept) > longest
            if overlong or kept.strip():
                yield _PushLine(index, None if overlong else bytes(kept))
                index += 1
            kept.clear()
            overlong = False
        if not overlong:
            kept += rest
        if len(kept) > longest:
            overlong = True
            kept.clear()
    if overlong or kept.strip():
        yield _PushLine(index, None if overlong else bytes(kept))


def _longest(ctx: ApiContext) -> int:
    # JSON may write a character in six bytes, and an entry has other fields besides.
    return min(ctx.settings.max_batch_bytes, 8 * ctx.settings.max_entry_bytes)


def _as_line(value: object) -> bytes:
    return json.dumps(value).encode() + b"\n"
