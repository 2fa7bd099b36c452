"""The pages of an application whose backends are stood in for, one by one."""

import asyncio
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import httpx2

from api.app import create_app
from shared.access.scope import Scope
from shared.errors import AccessError
from shared.settings.settings import Settings
from tests.support.read_page import read_page

HTML = {"accept": "text/html"}
# As a browser asks for what it shows in a window.
WINDOW = {**HTML, "sec-fetch-dest": "document"}


class _Callers:
    def __init__(self, scope: Scope | None) -> None:
        self._scope = scope

    async def find(self, _: object) -> Scope:
        if self._scope is None:
            raise AccessError("Who are you?", code="auth_invalid")
        return self._scope

    async def limit(self, *_: object) -> None:
        """Let everybody in."""

    async def end_session(self, *_: object) -> None:
        """End nobody's: none was begun."""


class _Audit:
    def open(self, *_: object) -> None:
        """Keep nothing of what is asked."""


def browse(
    path: str,
    *,
    scope: Scope | None = None,
    settings: Settings | None = None,
    form: Mapping[str, str] | None = None,
    headers: Mapping[str, str] = HTML,
    **parts: Any,
) -> httpx2.Response:
    """Return what a browser is shown; `parts`: what the application's context has.

    A form is sent as from a page of ours.
    """
    settings = settings or Settings()
    app = create_app(settings)
    app.state.context = SimpleNamespace(
        settings=settings,
        callers=_Callers(scope),
        audit=_Audit(),
        secret=lambda: b"secret",
        **parts,
    )

    async def ask() -> httpx2.Response:
        transport = httpx2.ASGITransport(app)
        where, base = "http://127.0.0.1", settings.base_path
        async with httpx2.AsyncClient(transport=transport, base_url=where) as client:
            if form is None:
                return await client.get(path, headers=headers)
            sent_by = {**HTML, "origin": where}
            shown = read_page((await client.get(f"{base}/login", headers=HTML)).text)
            csrf = {"csrf": shown.one("input", name="csrf")["value"]}
            return await client.post(path, data={**csrf, **form}, headers=sent_by)

    return asyncio.run(ask())
