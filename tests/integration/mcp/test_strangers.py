"""What no tool tells: entries of others, of other readers, of other logbooks."""

import json
from typing import Any

import psycopg
import pytest

from shared.access.keys import create_key
from tests.support.mcp_agent import ERAS, HIDDEN, SECRET, Agent, Served


def limited_key(served: Served, subject: str, **fields: Any) -> str:
    with psycopg.connect(served.system.database) as conn:
        made = create_key(
            conn,
            **{"tenant": served.tenant, "name": "limited", **fields},
            subject=subject,
            scopes=("read", "search"),
            rate_per_minute=0,
        )
    return made.token


# Who may not see an entry, and which one.
STRANGERS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "of another facility": (HIDDEN[1], "tester", {"tenant": "elsewhere"}),
    "who is no reader of it": (HIDDEN[0], "ben", {}),
    "without its logbook": (HIDDEN[1], "tester", {"logbooks": ["ops"]}),
}


@pytest.mark.parametrize("who", STRANGERS)
def test_no_tool_tells_a_stranger_of_an_entry(served: Served, who: str):
    ref, subject, fields = STRANGERS[who]
    words = {"query": "window klystron cracked", "mode": "keyword"}
    owner = Agent(served, ERAS[1])
    known = owner.result("search", **words)
    assert len(known["results"]) == len(HIDDEN)
    entry_id = owner.result("get_entries", refs=[ref])["entries"][0]["entry_id"]
    stranger = Agent(served, ERAS[1], limited_key(served, subject, **fields))

    searched = stranger.result("search", **words)
    job_id = searched["job_id"]
    told = [
        searched,
        stranger.result("ask", question="Why did the window of the klystron crack?"),
        stranger.result("browse"),
        stranger.result("filter_values", field="author"),
        stranger.result("filter_values", field="logbook"),
        stranger.result("explain", job_id=job_id),
    ]
    for uri in ("logchord://status", "logchord://capabilities"):
        read = stranger.ask(lambda client, uri=uri: client.read_resource(uri))
        told.append(json.loads(read.contents[0].text))
    assert entry_id not in json.dumps(told)
    assert f"/{ref}" not in json.dumps(told)

    # Called by its names, it is not there; nor is another caller's job.
    refused = [
        *(stranger.refused("get_entries", refs=[one]) for one in (ref, entry_id)),
        *(stranger.refused("get_thread", ref=one) for one in (ref, entry_id)),
        *(stranger.refused("find_similar", ref=one) for one in (ref, entry_id)),
        stranger.refused("explain", job_id=known["job_id"]),
    ]
    assert {one["code"] for one in refused} == {"not_found"}
    why = stranger.call("explain", job_id=job_id, entry=entry_id).content[0].text
    assert SECRET not in json.dumps(refused) + why

    if who != "who is no reader of it":
        assert SECRET not in json.dumps(told)
        return
    # The other entry has its author, and is open to everybody of the facility.
    (other,) = searched["results"]
    assert other["permalink"].endswith(f"/{HIDDEN[1]}")
    authors = {one["value"]: one["count"] for one in told[3]["options"]}
    assert authors[f"{SECRET} Moe"] == 1
