"""Requests of REST as tools make them, with the caller's own key."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

import httpx2

from api.client.error_answers import UnreachableError, read_error
from shared.entries import identity, refs
from shared.errors import InvalidRequestError

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.requests import Request

# What says who calls, from where and as what; nothing else of a request travels on.
_PASSED_ON = frozenset(
    {"authorization", "x-api-key", "host", "origin", "traceparent", "x-request-id"}
    | {"forwarded", "via", "x-real-ip", "x-client-ip", "cf-connecting-ip"}
)
_FORWARDED = "x-forwarded-"
_FOUND_BY_NAME = 5
_LOOK_MS = 30_000
# Longer than any search may take; each ends by its own deadline.
_MOST_SECONDS = 150.0


class ToolError(Exception):
    """A tool was refused or failed; it holds the error body as REST has it."""

    def __init__(self, body: Mapping[str, Any]) -> None:
        super().__init__(body["error"]["message"])
        self.body = body
        self.code: str = body["error"]["code"]


@dataclass(frozen=True, slots=True)
class RestCalls:
    """The API as one caller of a tool may use it."""

    client: httpx2.AsyncClient

    @classmethod
    def within(cls, app: FastAPI, request: Request) -> RestCalls:
        """Return calls to this process's application with the rights of a request."""
        people = app.state.settings.people
        known = {*_PASSED_ON, *map(str.lower, filter(None, people.headers))}
        # As they came: one that came twice is refused where it counts.
        headers = [
            (name, value)
            for name, value in request.headers.raw
            if (text := name.decode("latin-1")) in known or text.startswith(_FORWARDED)
        ]
        peer = (request.client.host, request.client.port) if request.client else None
        transport = httpx2.ASGITransport(
            app, raise_app_exceptions=False, client=peer or ("unknown", 0)
        )
        base = app.state.settings.base_path
        return cls(
            httpx2.AsyncClient(
                transport=transport,
                base_url=f"http://{request.headers.get('host', 'localhost')}{base}",
                headers=headers,
                timeout=_MOST_SECONDS,
                trust_env=False,
            )
        )

    @classmethod
    def like(cls, client: httpx2.Client) -> RestCalls:
        """Return calls to the API that a client of the command line asks."""
        return cls(
            httpx2.AsyncClient(
                base_url=client.base_url,
                headers=client.headers,
                timeout=client.timeout,
                trust_env=client.trust_env,
            )
        )

    async def call(
        self, method: str, path: str, *, json: Any = None, params: Any = None
    ) -> dict[str, Any]:
        """Return the body of an answer; an error is raised as REST words it."""
        try:
            answer = await self.client.request(method, path, json=json, params=params)
        except httpx2.TransportError as exc:
            where = str(self.client.base_url).rstrip("/")
            said = f"The API at {where} does not answer ({type(exc).__name__})"
            error = UnreachableError(f"{said}: LOGCHORD_URL says where it is.")
            raise ToolError(error.body()) from exc
        if answer.is_success:
            with suppress(ValueError):
                body = answer.json() if answer.content else {}
                if isinstance(body, dict):
                    return body
        raise ToolError(_error_body(answer))

    async def search(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer to a search, also of one that takes long."""
        found = await self.call("POST", "/v1/search/query", json=body)
        while "results" not in found:
            path = f"/v1/search/jobs/{found['job_id']}"
            job = await self.call("GET", path, params={"wait_ms": _LOOK_MS})
            if job["response"]:
                found = job["response"]
            elif job["error"]:
                raise ToolError({"error": job["error"]})
        return found

    async def find_entry(self, ref: str) -> dict[str, Any]:
        """Return the entry that is called so: by id, address, or its own number.

        Behind any of these may stand a revision, as in a citation.
        """
        found = await self._find_whole(ref)
        bare, revision = refs.split_pin(ref)
        if found is None and revision is not None:
            newest = await self._find_whole(bare)
            if newest is not None:
                path = identity.permalink(newest["source"], newest["external_id"])
                found = await self._found(f"{path}@{revision}")
        if found is None:
            message = f"No entry is called {ref[:100]!r}."
            raise ToolError(InvalidRequestError(message, code="not_found").body())
        return found

    async def _find_whole(self, ref: str) -> dict[str, Any] | None:
        with suppress(ValueError):
            found = await self._found(f"/v1/entries/{UUID(ref)}")
            if found is not None:
                return found
        is_uri = ref.startswith(identity.URI)
        tenant = (await self.call("GET", "/v1/me"))["tenant"] if is_uri else ""
        for name in refs.names(tenant, ref):
            path = identity.permalink(name.source, name.external_id)
            pin = "" if name.revision is None else f"@{name.revision}"
            found = await self._found(path + pin)
            if found is not None:
                return found
        return await self._found_by_number(ref)

    async def _found(self, path: str) -> dict[str, Any] | None:
        try:
            return await self.call("GET", path)
        except ToolError as exc:
            if exc.code != "not_found":
                raise
            return None

    async def _found_by_number(self, ref: str) -> dict[str, Any] | None:
        params = {"external_id": ref, "limit": _FOUND_BY_NAME}
        listed = await self.call("GET", "/v1/entries", params=params)
        items = listed["items"]
        if len(items) == 1:
            return await self.call("GET", f"/v1/entries/{items[0]['entry_id']}")
        if not items:
            return None
        several = ", ".join(f"{one['source']}/{one['external_id']}" for one in items)
        message = f"{ref[:100]!r} may be any of: {several}."
        raise ToolError(InvalidRequestError(message, code="not_found").body())


def _error_body(answer: httpx2.Response) -> Mapping[str, Any]:
    """Return the error as REST words it, also of an answer that is not REST's."""
    error = read_error(answer.status_code, answer.content, None)
    if isinstance(error, UnreachableError):
        return error.body()
    body: dict[str, Any] = answer.json()
    return body
