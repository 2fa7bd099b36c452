"""Who am I, as the API sees it."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from api.context import Caller, Ctx
from api.strict_route import described, strict_router

router = strict_router("/v1", "access")


class Me(BaseModel):
    """The caller's name, rights and limits."""

    key_id: str | None
    name: str | None
    subject: str
    groups: list[str]
    tenant: str
    scopes: list[str]
    logbooks: list[str] | None
    limits: dict[str, int | None]


@router.get("/me")
@described("Who calls", Me)
async def get_me(caller: Caller, ctx: Ctx) -> dict[str, Any]:
    """Return who the caller's key belongs to, and its rights."""
    scope, settings = caller.scope, ctx.settings
    return {
        "key_id": scope.key_id,
        "name": scope.key_name,
        "subject": scope.subject,
        "groups": list(scope.groups),
        "tenant": scope.tenant,
        "scopes": sorted(scope.allowed),
        "logbooks": None if scope.logbooks is None else list(scope.logbooks),
        "limits": {
            "rate_per_minute": scope.rate_per_minute,
            "rate_search_per_minute": settings.rate_search_per_minute,
            "rate_ingest_per_minute": settings.rate_ingest_per_minute,
            "max_limit": settings.max_limit,
            "max_batch_entries": settings.max_batch_entries,
            "max_batch_bytes": settings.max_batch_bytes,
            "max_entry_bytes": settings.max_entry_bytes,
        },
    }
