"""Who may call without a key: this machine itself, and nobody through it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from starlette.requests import Request

from api.callers import Callers
from shared.errors import AccessError
from shared.settings import Settings

# Neither is asked: no key is looked up, nothing is counted.
NOBODY: Any = None


def find(host: str = "localhost:8006", peer: str = "127.0.0.1", **headers: str) -> str:
    given = {"host": host, **{k.replace("_", "-"): v for k, v in headers.items()}}
    scope = {
        "type": "http",
        "client": (peer, 40_000),
        "headers": [(k.encode(), v.encode()) for k, v in given.items()],
    }
    settings = Settings.load({"LOGCHORD_ANONYMOUS_LOOPBACK": "true"})
    callers = Callers(settings, NOBODY, NOBODY, NOBODY)
    return asyncio.run(callers.find(Request(scope))).subject


@pytest.mark.requirement("SEC1")
@pytest.mark.parametrize("host", ["localhost", "localhost:8006", "[::1]:8006"])
def test_this_machine_itself_needs_no_key_where_that_is_allowed(host: str) -> None:
    assert find(host) == "anonymous"


@pytest.mark.requirement("SEC1")
@pytest.mark.parametrize(
    "header",
    [
        *("forwarded", "via", "x_forwarded_for", "x_forwarded_host", "x_real_ip"),
        *("x_forwarded_proto", "x_forwarded_port", "x_forwarded_server"),
        *("x_forwarded_prefix", "x_client_ip", "cf_connecting_ip"),
    ],
)
def test_whoever_comes_through_a_proxy_needs_a_key(header: str) -> None:
    with pytest.raises(AccessError):
        find(**{header: "https"})


@pytest.mark.requirement("SEC1")
@pytest.mark.parametrize("host", ["", "evil.example", "localhost.evil.example", "::1"])
def test_another_name_for_this_machine_needs_a_key(host: str) -> None:
    with pytest.raises(AccessError):
        find(host)


@pytest.mark.requirement("SEC1")
@pytest.mark.parametrize("peer", ["10.0.0.1", "::ffff:10.0.0.1", "testclient", ""])
def test_another_machine_needs_a_key(peer: str) -> None:
    with pytest.raises(AccessError):
        find(peer=peer)
