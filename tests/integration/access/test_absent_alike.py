"""SEC2: what is another's costs as much as what is not there: the same statements."""

from collections.abc import Callable, Iterator
from uuid import uuid4

import httpx2
import pytest

from tests.integration.api.test_access import ROUTES
from tests.support.fixtures.system import System
from tests.support.fixtures.watched import WatchedPostgres

ABSENT = str(uuid4())
# What the API asks by the clock, whoever calls: when a key was used, who did what, and
# what is due.
BY_THE_CLOCK = (
    *("SET last_used_at", "INSERT INTO audit_record"),
    "WITH RECURSIVE hopped",
)
TRIES = 4
ADMIN = ("read", "search", "ingest", "admin")


@pytest.fixture
def system(
    make_system: Callable[..., System], watched_postgres: WatchedPostgres
) -> Iterator[System]:
    """An API alone, whose statements are counted: nothing is asked by the clock."""
    made = make_system(opensearch="off", database=watched_postgres.url)
    made.start("api")
    made.wait_ready()
    yield made
    made.kill_all()


def ids_of(client: httpx2.Client) -> dict[str, str]:
    """Make one of each thing that has an id; return the ids by what paths call them."""
    body = {"text": "ours", "external_id": "one", "source": "api"}
    entry = client.post("/v1/entries", json=body).json()["entry_id"]
    reply = {"text": "and more", "external_id": "two", "reply_to": "one"}
    assert client.post("/v1/entries", json=reply).status_code == 201
    file = client.post(
        f"/v1/entries/{entry}/attachments", files={"file": ("a.txt", b"x")}
    )
    assert file.status_code == 201, file.text
    thread = client.get(f"/v1/entries/{entry}/thread").json()["thread_id"]
    job = client.post("/v1/search/jobs", json={"query": "ours"})
    assert job.status_code == 202, job.text
    return {
        "entry_id": entry,
        "attachment_id": file.json()["attachment_id"],
        "thread_id": thread,
        "job_id": job.json()["job_id"],
    }


def asked_of(ids: dict[str, str]) -> dict[str, tuple[str, str]]:
    """Return each route that one of the ids fits, with it and with an absent one."""
    return {
        route: (path.format(**ids), path.format(**dict.fromkeys(ids, ABSENT)))
        for route in ROUTES
        for path in [route.split(" ", 1)[1]]
        if any(f"{{{name}}}" in path for name in ids)
    }


@pytest.mark.requirement("SEC2", "P10")
def test_the_database_is_asked_the_same_for_anothers_thing_as_for_none(
    system: System, watched_postgres: WatchedPostgres
) -> None:
    with (
        system.client(system.key(tenant="ours", scopes=ADMIN)) as ours,
        system.client(system.key(tenant="theirs", scopes=ADMIN)) as theirs,
    ):
        routes = asked_of(ids_of(ours))
        assert len(routes) > 15

        def statements_of(route: str, path: str) -> set[str]:
            given = ROUTES[route][1]
            watched_postgres.forget()
            found = theirs.request(route.split(" ", 1)[0], path, **given)
            assert found.status_code == 404, (route, found.text)
            return {
                one
                for one in watched_postgres.statements()
                if not any(part in one for part in BY_THE_CLOCK)
            }

        for route, (_, absent) in routes.items():
            # What is asked once only, and then known.
            statements_of(route, absent)

        def difference(anothers: str, absent: str, route: str) -> set[str]:
            """Return what is asked for one of them alone, each time.

            What the API asks again once it has known it for long enough, a key for
            one, falls to either of them by chance.
            """
            more = statements_of(route, anothers) ^ statements_of(route, absent)
            for _ in range(TRIES - 1):
                if not more:
                    break
                more &= statements_of(route, anothers) ^ statements_of(route, absent)
            return more

        told = {
            route: difference(anothers, absent, route)
            for route, (anothers, absent) in routes.items()
        }

    assert {route: more for route, more in told.items() if more} == {}
