"""The pages of an application whose backends are stood in for, one by one."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import httpx

from api.app import create_app
from shared.access.scope import Scope
from shared.errors import AccessError
from shared.settings.settings import Settings

HTML = {"accept": "text/html"}


class _Callers:
    def __init__(self, scope: Scope | None) -> None:
        self._scope = scope

    async def find(self, _: object) -> Scope:
        if self._scope is None:
            raise AccessError("Who are you?", code="auth_invalid")
        return self._scope

    async def limit(self, *_: object) -> None:
        """Let everybody in."""


def browse(
    path: str,
    *,
    scope: Scope | None = None,
    settings: Settings | None = None,
    **parts: Any,
) -> httpx.Response:
    """Return what a browser is shown; `parts`: what the application's context has."""
    settings = settings or Settings()
    app = create_app(settings)
    app.state.context = SimpleNamespace(
        settings=settings,
        callers=_Callers(scope),
        secret=lambda: b"secret",
        **parts,
    )

    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(app)
        where = "http://127.0.0.1"
        async with httpx.AsyncClient(transport=transport, base_url=where) as client:
            return await client.get(path, headers=HTML)

    return asyncio.run(ask())
