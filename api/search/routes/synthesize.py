"""`POST /v1/search/synthesize`: an answer to known hits, streamed while it is made."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

from fastapi.responses import StreamingResponse
from fastapi.sse import format_sse_event

from api.caller_info import CallerInfo
from api.context import ApiContext, Caller, Ctx, needs
from api.search import own_jobs
from api.search.job_events import HEARTBEAT_SECONDS
from api.search.schemas.synthesize import SynthesisRequest
from api.search.syntheses import SentSynthesis, send_synthesis
from api.strict_route import audited, described, strict_router
from shared.errors import CapacityError, InvalidRequestError, SearchTimeoutError
from shared.language_models import quota
from shared.language_models.chosen_model import choose_model
from shared.log import get_logger
from shared.search.jobs import job as jobs
from shared.search.jobs.job import StoredJob
from shared.search.jobs.progress import ENDED

log = get_logger()

# What an event says, with the names of its fields in another spelling.
Spell: TypeAlias = Callable[[Mapping[str, Any]], dict[str, Any]]

EVENTS: dict[str, Any] = {
    "description": "`meta`, `deterministic`, `llm_chunk`, `llm_status`, `actions`,"
    " `done`.",
    "content": {"text/event-stream": {}},
}

router = strict_router("", "search", needs("search"))


@router.post("/v1/search/synthesize")
@described(
    "Answer from known hits, as it is made",
    None,
    *(404, 410),
    also={200: EVENTS},
    response_class=StreamingResponse,
)
@audited("search")
async def post_synthesize(
    body: SynthesisRequest, caller: Caller, ctx: Ctx
) -> StreamingResponse:
    """First the whole answer that needs no model, then what a model makes of it.

    Whoever goes away before its end stops the model.
    """
    return await stream_answer(body, caller, ctx, dict)


async def stream_answer(
    body: SynthesisRequest, caller: CallerInfo, ctx: ApiContext, spell: Spell
) -> StreamingResponse:
    """Send for an answer, and return its events as they come, spelt so."""
    stored: StoredJob | None = None
    if body.job_id is not None:
        stored = await asyncio.to_thread(own_jobs.find, ctx, caller, body.job_id)
        if stored.ended_at is None:
            message = "This search has not ended yet: ask again when it has."
            raise InvalidRequestError.field("job_id", "not_ended", message)
    sent = await send_synthesis(ctx, caller, body, stored)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(
        _events(ctx, sent, spell), media_type="text/event-stream", headers=headers
    )


async def _events(
    ctx: ApiContext, sent: SentSynthesis, spell: Spell
) -> AsyncIterator[bytes]:
    number = 1
    wire = partial(_wire, sent, spell)
    try:
        yield wire(number, "meta", await asyncio.to_thread(_meta, ctx, sent))
        state, error = "failed", None
        sent_at = time.monotonic()
        with sent.watch as watch:
            while (left := sent.ends_at - time.monotonic()) > 0:
                told = await watch.next(min(left, HEARTBEAT_SECONDS))
                if told is None:
                    if time.monotonic() - sent_at >= HEARTBEAT_SECONDS:
                        yield format_sse_event(comment="still there")
                        sent_at = time.monotonic()
                    continue
                if told.name == ENDED:
                    state = told.says["state"]
                    break
                number = told.number + 1
                sent_at = time.monotonic()
                yield wire(number, told.name, told.says)
        if state == "failed":
            seconds = sent.plan.deadline_ms / 1000
            late = SearchTimeoutError(timeout_seconds=seconds, operation="synthesize")
            error = late.body()["error"]
        ended = {"state": state, "degraded": state != "done", "error": error}
        yield wire(number + 1, "done", {**ended, "stability_hash": None})
    finally:
        # Who has gone away waits for no model.
        await asyncio.to_thread(_forget, ctx, sent)


def _forget(ctx: ApiContext, sent: SentSynthesis) -> None:
    try:
        jobs.forget(ctx.jobs, sent.job_id)
    except CapacityError as exc:
        log.warning("synthesis_not_stopped", code=exc.error_code)


def _meta(ctx: ApiContext, sent: SentSynthesis) -> dict[str, Any]:
    settings = ctx.settings.synthesis
    wanted = sent.plan.detail.synthesis
    by_model = wanted is not None and wanted.by == "llm"
    chosen = choose_model(ctx.settings, sent.purpose) if by_model else None
    remaining = None
    if chosen is not None:
        most = (settings.quota_per_day, settings.quota_per_minute)
        remaining = quota.left_answers(ctx.jobs, sent.plan.scope.tenant, *most)
    return {"model": chosen.name if chosen else None, "quota": {"remaining": remaining}}


def _wire(
    sent: SentSynthesis, spell: Spell, number: int, name: str, says: Mapping[str, Any]
) -> bytes:
    data = spell({"job_id": str(sent.job_id), **says})
    text = json.dumps(data, separators=(",", ":"))
    return format_sse_event(data_str=text, event=name, id=str(number))
