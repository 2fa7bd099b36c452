"""API keys over REST: made and told once, listed without secrets, revoked for good."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest

from shared.access import keys
from tests.support.fixtures.system import System
from tests.support.typed import typist
from tests.support.waiting import until

PATH = "/v1/keys"


@pytest.fixture
def admin(api: System, tenant: str) -> Iterator[httpx2.Client]:
    with api.client(api.key(tenant=tenant, scopes=("admin",))) as client:
        yield client


def created(client: httpx2.Client, **fields: Any) -> dict[str, str]:
    answer = client.post(PATH, json={"name": "display", **fields})
    assert answer.status_code == 201, answer.text
    told: dict[str, str] = answer.json()
    return told


def limited(api: System, tenant: str, **fields: Any) -> httpx2.Client:
    """Return a client of an admin whose key is as these fields say."""
    with psycopg.connect(api.database) as conn:
        made = keys.create_key(
            conn, **{"tenant": tenant, "name": "limited", "scopes": ["admin"], **fields}
        )
    return api.client(made.token)


@pytest.mark.requirement("SEC1")
def test_a_key_that_an_admin_makes_is_told_once_and_opens_what_it_may(
    api: System, tenant: str, admin: httpx2.Client
):
    fields = {"subject": "shift", "logbooks": ["Ops"], "expires_in_days": 7}
    made = created(admin, **fields, rate_per_minute=0)

    with api.client(made["token"]) as display:
        me = display.get("/v1/me").json()
        refused = display.get(PATH)
    assert (me["key_id"], me["name"]) == (made["key_id"], "display")
    assert (me["tenant"], me["subject"], me["logbooks"]) == (tenant, "shift", ["Ops"])
    assert me["scopes"] == ["read", "search"]
    assert refused.status_code == 403

    listed = admin.get(PATH)
    secret = made["token"].split("_", 2)[2]
    assert secret not in listed.text
    first = listed.json()["items"][0]
    assert (first["key_id"], first["state"]) == (made["key_id"], "valid")
    assert (first["tenant"], first["subject"]) == (tenant, "shift")
    assert first["expires_at"] > first["created_at"]


@pytest.mark.requirement("SEC1")
def test_a_revoked_key_opens_nothing_and_is_revoked_once(api, admin):
    made = created(admin)

    first = admin.delete(f"{PATH}/{made['key_id']}")
    revoked_at = admin.get(PATH).json()["items"][0]["revoked_at"]
    again = admin.delete(f"{PATH}/{made['key_id']}")

    assert (first.status_code, again.status_code) == (204, 204)
    (one,) = [k for k in admin.get(PATH).json()["items"] if k["revoked_at"]]
    assert (one["state"], one["revoked_at"]) == ("revoked", revoked_at)
    with api.client(made["token"]) as display:
        until(
            lambda: display.get("/v1/me").status_code == 401,
            within_seconds=2.5,
            what="the revoked key",
        )


@pytest.mark.requirement("SEC2")
def test_an_admin_neither_sees_nor_revokes_a_key_of_another_facility(
    api: System, tenant: str, admin: httpx2.Client
):
    made = created(admin)
    with limited(api, f"{tenant}-b") as other, limited(api, "*") as installation:
        theirs = [one["key_id"] for one in other.get(PATH).json()["items"]]
        refused = other.delete(f"{PATH}/{made['key_id']}")
        ours = {one["tenant"] for one in admin.get(PATH).json()["items"]}
        every = {one["tenant"] for one in installation.get(PATH).json()["items"]}
        above = [
            one["key_id"]
            for one in installation.get(PATH).json()["items"]
            if one["tenant"] == "*"
        ]
        beyond = admin.delete(f"{PATH}/{above[0]}")
        gone = installation.delete(f"{PATH}/{made['key_id']}")

    assert made["key_id"] not in theirs
    assert (refused.status_code, beyond.status_code) == (404, 404)
    assert ours == {tenant}
    assert every >= {tenant, f"{tenant}-b", "*"}
    assert gone.status_code == 204


@pytest.mark.requirement("SEC2")
def test_a_key_of_some_logbooks_makes_no_key_of_more(api: System, tenant: str):
    with limited(api, tenant, logbooks=["RF", "Ops"]) as narrow:
        within = created(narrow, logbooks=["RF"])
        refused = [
            narrow.post(PATH, json={"name": "wider", "logbooks": wanted})
            for wanted in (None, ["RF", "Vacuum"])
        ]
        names = [one["name"] for one in narrow.get(PATH).json()["items"]]

    assert within["token"]
    assert {one.status_code for one in refused} == {403}
    needed = [one.json()["error"]["details"]["needed"] for one in refused]
    assert needed == ["logbook:*", "logbook:Vacuum"]
    assert "wider" not in names


def test_pages_have_each_key_once_and_the_newest_first(admin: httpx2.Client):
    made = [created(admin, name=f"key {number}")["key_id"] for number in range(4)]
    seen: list[str] = []
    given: dict[str, Any] = {"limit": 2}
    while True:
        page = admin.get(PATH, params=given).json()
        seen += [one["key_id"] for one in page["items"]]
        if page["next_cursor"] is None:
            break
        given["cursor"] = page["next_cursor"]
    assert seen[:4] == made[::-1]
    assert len(set(seen)) == len(seen) == 5


@pytest.mark.requirement("SEC1", "U28")
def test_a_stream_ends_when_its_key_is_revoked(
    api: System, tenant: str, admin: httpx2.Client
):
    made = created(admin)
    with (
        api.client(made["token"]) as display,
        display.stream("GET", "/live/events", timeout=8) as stream,
    ):
        lines = stream.iter_lines()
        assert "event: rows" in (next(lines), next(lines), next(lines))
        assert admin.delete(f"{PATH}/{made['key_id']}").status_code == 204
        began = time.monotonic()
        # Each beat would come ten seconds after the one before.
        assert not [line for line in lines if line.startswith("event")]
    assert time.monotonic() - began < 8


def test_a_name_that_came_over_rest_moves_no_cursor_of_a_terminal(
    api: System, tenant: str, admin: httpx2.Client, tmp_path: Path
):
    created(admin, name="red \x1b[31m\nkey")

    ended = typist(api, tmp_path, "none")("keys", "list", "--tenant", tenant)

    assert ended.returncode == 0
    assert "red  [31m key (all logbooks)" in ended.stdout


@pytest.mark.parametrize(
    "wrong",
    [
        *({"scopes": []}, {"scopes": ["root"]}, {"name": ""}, {"tenant": "*"}),
        *({"rate_per_minute": -1}, {"expires_in_days": 0}, {"expires_in_days": True}),
    ],
)
def test_what_no_key_can_be_is_refused(admin: httpx2.Client, wrong: dict[str, Any]):
    answer = admin.post(PATH, json={"name": "display", **wrong})

    assert answer.status_code == 422
    assert len(admin.get(PATH).json()["items"]) == 1
