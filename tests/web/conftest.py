"""The logbook that the pages of the browser show."""

import secrets
from typing import Any

import httpx2
import pytest

from tests.support.attached import attach_picture
from tests.support.fixtures.system import System
from tests.support.written import push_found

FELL = "I think it simply fell shut when air sagged."
HOSTILE = (
    "</b></mark><script>document.title='ran'</script><img src=x onerror=alert(1)>"
    '"><svg onload=alert(2)><b>{{7*7}}</b> javascript:alert(3) '
    "<a href='//evil.example'>pump</a>"
)
# The same, short enough for a name.
NAMED = "</mark><img src=x onerror=alert(1)>"
ENTRIES: list[dict[str, Any]] = [
    {
        "external_id": "OPS-1",
        "title": "Gate valve 8 closed with beam in the machine",
        "text": f"Gate valve 8 closed at 02:10 and the beam was lost. {FELL} "
        "Compressed air was at 4.1 bar.",
        "entry_time": "2026-02-03T02:30:00Z",
        "kind": "incident",
        "url": "https://log.example/1",
    },
    {
        "external_id": "OPS-2",
        "title": "Re: Gate valve 8 closed",
        "text": "Compressor restarted at 03:40, gate valve 8 is open again.",
        "reply_to": "OPS-1",
        "entry_time": "2026-02-03T04:00:00Z",
    },
    *(
        {
            "external_id": f"OPS-{n}",
            "title": f"Gate valve {n} checked",
            "text": f"Gate valve {n} moves freely. Nothing to be done.",
            "entry_time": f"2026-02-{n:02}T10:00:00Z",
            # One round of checks.
            **({"reply_to": "OPS-10"} if n > 10 else {}),
        }
        for n in range(10, 24)
    ),
    {
        "external_id": "X<1>",
        "title": HOSTILE,
        "text": HOSTILE,
        "authors": [HOSTILE[:90]],
        "logbooks": [NAMED],
        "tags": [NAMED],
        "shift": NAMED,
        "level": NAMED,
        "kind": "incident",
        "metadata": {"<i>key</i>": HOSTILE},
    },
    {"external_id": "X<2>", "title": HOSTILE, "text": HOSTILE, "reply_to": "X<1>"},
]
FIRST = {**ENTRIES[0], "text": "Gate valve 8 closed."}


@pytest.fixture(scope="session")
def filled_tenant(running: System) -> str:
    """A facility whose entries can be found, one with two pictures, to be read."""
    tenant = f"t{secrets.token_hex(4)}"
    with running.client(running.key(tenant=tenant)) as client:
        fill(client)
    return tenant


@pytest.fixture
def tenant(request: pytest.FixtureRequest) -> str:
    """The facility that is shared, or that of a test alone, which writes to it."""
    if "own_logbook" in request.fixturenames:
        return f"t{secrets.token_hex(4)}"
    shared: str = request.getfixturevalue("filled_tenant")
    return shared


@pytest.fixture
def logbook(client: httpx2.Client) -> httpx2.Client:
    """A caller of the shared facility, whose entries can be found."""
    return client


@pytest.fixture
def own_logbook(client: httpx2.Client) -> httpx2.Client:
    """A caller of a facility with the same entries, to be written to."""
    fill(client)
    return client


def fill(client: httpx2.Client) -> None:
    """Push the entries of the logbook, and their pictures."""
    push_found(client, [FIRST])
    push_found(client, ENTRIES)
    entry = client.get("/e/api/OPS-1").json()
    for name, colour in (("scope.png", "navy"), ("trend.png", "teal")):
        attach_picture(client, entry, name, colour)
    attach_picture(client, client.get("/e/api/X%3C1%3E").json(), f"{NAMED}.png")


@pytest.fixture
def more_pages(logbook: httpx2.Client, running: System, tenant: str) -> list[str]:
    """Pages of threads and jobs, whose addresses are others in each run."""
    with running.client(running.key(tenant=tenant, scopes=("admin",))) as admin:

        def submit(query: str, **headers: str) -> str:
            body = {"query": query, "mode": "keyword"}
            sent = admin.post("/v1/search/jobs", json=body, headers=headers)
            assert sent.status_code == 202, sent.text
            return str(sent.json()["job_id"])

        ended = submit(HOSTILE)
        admin.get(f"/v1/search/jobs/{ended}", params={"wait_ms": 20_000})
        goes_on = submit("gate", **{"X-Logchord-Fault": "branch=*;delay_ms=3500"})
        threads = [
            admin.get(f"/e/api/{name}").json()["thread_id"]
            for name in ("OPS-1", "X%3C1%3E")
        ]
    return [
        *(f"/jobs/{goes_on}", f"/jobs/{ended}"),
        f"/why-not?job={ended}&entry=%3Cscript%3Ealert(1)%3C/script%3E",
        *(f"/threads/{one}" for one in threads),
    ]
