"""What tools ask of REST, and what they make of its answers."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import httpx2
import pytest
from starlette.requests import Request

from api.access.callers import Callers
from api.app import create_app
from api.mcp.rest_calls import RestCalls, ToolError
from shared.access.limits import Limiter
from shared.errors import NotFoundError, SearchTimeoutError
from shared.settings.settings import Settings

LATE = SearchTimeoutError(timeout_seconds=120, operation="agent").body()["error"]


@dataclass
class LateSearch:
    """An API of which every search goes on as a job, and how that job ends."""

    rest: RestCalls
    state: str = "partial"
    response: Any = None


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def late() -> AsyncIterator[LateSearch]:
    def answer(request: httpx2.Request) -> httpx2.Response:
        if request.method == "POST":
            return httpx2.Response(202, json={"job_id": "j"})
        body = {"job_id": "j", "state": made.state, "response": made.response}
        return httpx2.Response(200, json={**body, "error": LATE})

    transport = httpx2.MockTransport(answer)
    async with httpx2.AsyncClient(transport=transport, base_url="http://api") as client:
        made = LateSearch(RestCalls(client))
        yield made


@pytest.mark.anyio
@pytest.mark.requirement("S1-118")
async def test_a_part_of_an_answer_is_told_and_a_failure_is_an_error(late: LateSearch):
    late.response = {"results": [1]}
    assert await late.rest.search({"query": "x"}) == {"results": [1]}
    late.response = None
    for state in ("failed", "partial"):
        late.state = state
        with pytest.raises(ToolError):
            await late.rest.search({"query": "x"})


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("ref", "path"),
    [
        ("/e/ops/7@2", "/e/ops/7@2"),
        ("http://there/e/ops/7@2?x=1#y", "/e/ops/7@2"),
        ("/e/ops/7%402", "/e/ops/7%402"),
        ("/e/ops/7@0", "/e/ops/7%400"),
        ("/e/ops/7@\u00b2", "/e/ops/7%40%C2%B2"),
        ("ops/7@2", "/e/ops/7%402"),
        ("/e/ops/7", "/e/ops/7"),
    ],
)
async def test_an_entry_is_read_in_the_revision_that_its_permalink_names(ref, path):
    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, json={"path": request.url.raw_path.decode()})

    transport = httpx2.MockTransport(answer)
    async with httpx2.AsyncClient(transport=transport, base_url="http://api") as client:
        assert await RestCalls(client).find_entry(ref) == {"path": path}


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("status", "content", "is_retriable"),
    [
        (502, b"<html>Bad Gateway</html>", True),
        (503, b'{"detail": "starting"}', True),
        (503, b"[]", True),
        (500, b'{"error": "oops"}', False),
        (500, b'{"error": {"message": "oops"}}', False),
        (404, b"", False),
        (302, b"", False),
        (200, b"<html>Log in</html>", False),
        (200, b"[]", False),
    ],
)
async def test_an_answer_of_another_server_is_an_error_that_says_so(
    status: int, content: bytes, *, is_retriable: bool
):
    transport = httpx2.MockTransport(lambda _: httpx2.Response(status, content=content))
    async with httpx2.AsyncClient(transport=transport, base_url="http://api") as client:
        with pytest.raises(ToolError, match=f"{status}, but not as Logchord") as raised:
            await RestCalls(client).call("GET", "/v1/me")
    error = raised.value.body["error"]
    assert error["code"] == "source_unreachable"
    assert error["retriable"] is is_retriable
    assert error["severity"] == ("RETRIABLE" if is_retriable else "CRITICAL")


@pytest.mark.anyio
async def test_an_error_of_rest_is_told_as_it_was():
    body = {"error": {**LATE, "code": "of_a_newer_release", "hint": "Wait."}}
    transport = httpx2.MockTransport(lambda _: httpx2.Response(504, json=body))
    async with httpx2.AsyncClient(transport=transport, base_url="http://api") as client:
        with pytest.raises(ToolError) as raised:
            await RestCalls(client).call("GET", "/v1/me")
    assert raised.value.body == body


@pytest.mark.anyio
@pytest.mark.parametrize("ref", ["7@2", "ops/7@2", f"{UUID(int=7)}@2", "/e/ops/7@2"])
async def test_a_citation_is_read_in_the_revision_that_it_pins(ref: str):
    entry = {"entry_id": str(UUID(int=7)), "source": "ops", "external_id": "7"}

    def answer(request: httpx2.Request) -> httpx2.Response:
        path, params = request.url.raw_path.decode(), request.url.params
        if path == "/e/ops/7@2":
            return httpx2.Response(200, json={**entry, "revision": 2})
        if path in {"/e/ops/7", f"/v1/entries/{UUID(int=7)}"}:
            return httpx2.Response(200, json={**entry, "revision": 3})
        if request.url.path == "/v1/entries":
            items = [entry] if params["external_id"] == "7" else []
            return httpx2.Response(200, json={"items": items})
        return httpx2.Response(404, json=NotFoundError().body())

    transport = httpx2.MockTransport(answer)
    async with httpx2.AsyncClient(transport=transport, base_url="http://api") as client:
        assert (await RestCalls(client).find_entry(ref))["revision"] == 2
        with pytest.raises(ToolError, match="No entry is called '8@2'"):
            await RestCalls(client).find_entry("8@2")


@pytest.mark.anyio
@pytest.mark.requirement("U22", "SEC1")
async def test_a_tool_has_the_rights_of_whom_the_gateway_names_to_it():
    people = "{header: X-User, groups_header: OIDC_CLAIM_groups, groups: {rf: {}}}"
    given = {"PEOPLE": people, "TRUSTED_PROXIES": "10.0.0.5"}
    given["RATE_DEFAULT_PER_MINUTE"] = "0"
    settings = Settings.load({f"LOGCHORD_{k}": v for k, v in given.items()})
    nobody: Any = None
    callers = Callers(settings, nobody, Limiter(nobody), lambda _: None, nobody)
    app = create_app(settings)
    app.state.context = SimpleNamespace(settings=settings, callers=callers)

    async def me(peer: str, *more: tuple[bytes, bytes]) -> Any:
        named = (b"x-user", "Jürgen".encode()), (b"oidc_claim_groups", b"rf,cryo")
        asked = {"type": "http", "client": (peer, 4000), "headers": [*named, *more]}
        calls = RestCalls.within(app, Request(asked))
        async with calls.client:
            return await calls.call("GET", "/v1/me")

    told = await me("10.0.0.5")
    assert (told["subject"], told["groups"]) == ("Jürgen", ["rf", "cryo"])
    for refused in (me("10.0.0.6"), me("10.0.0.5", (b"x-user", b"anna"))):
        with pytest.raises(ToolError) as raised:
            await refused
        assert raised.value.code == "origin_refused"


@pytest.mark.anyio
async def test_who_reaches_no_api_is_told_which_was_asked_and_how_to_name_another():
    def refuse(_: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("refused")

    transport, url = httpx2.MockTransport(refuse), "http://127.0.0.1:1/logs"
    async with httpx2.AsyncClient(transport=transport, base_url=url) as client:
        with pytest.raises(ToolError, match="LOGCHORD_URL") as refused:
            await RestCalls(client).call("GET", "/v1/me")
    assert f"{url} does not answer" in str(refused.value)
