"""What is noted of a visit of the page: its questions, ways out and opened hits."""

import httpx2
import pytest

from tests.integration.api.test_unified_search import events_of
from tests.integration.web.test_search_page import ENTRIES, HTML, QUESTION, search
from tests.support.fixtures.system import System
from tests.support.waiting import until
from tests.support.written import push_found

VAIN = "gate valve 8 exploded"


@pytest.mark.requirement("S4-43", "S4-45")
def test_questions_ways_out_and_opened_hits_of_a_browser_are_one_session(
    client: httpx2.Client, running: System, tenant: str
) -> None:
    push_found(client, ENTRIES)
    vain = search(client, VAIN)
    assert not [*vain.every("section", cls="answer-grounded")]
    # Asked anew by the same browser, which answers with its cookie.
    found = search(client, QUESTION)
    way_out = next(
        one["href"] for one in vain.every("a", cls="drop") if "via=" in one["href"]
    )
    results = client.get(way_out, headers=HTML)
    assert results.is_success, results.text
    hit = found.one("a", cls="open")["href"]
    for referer in (results.url, httpx2.URL(client.base_url).join("/live")):
        opened = client.get(hit, headers={**HTML, "referer": str(referer)})
        assert opened.is_success, opened.text
    why_not = found.one("form", cls="why-not").one("input", name="job")["value"]
    asked = {"job": why_not, "entry": "OPS-2"}
    assert client.get("/why-not", params=asked, headers=HTML).is_success

    expected = [
        *("query", "answer_frame"),
        *("reformulation", "query", "answer_frame"),
        *("rescue_action", "query"),
        *("click", "rescue_action"),
    ]
    kept = until(
        lambda: (
            rows if len(rows := events_of(running, tenant)) >= len(expected) else None
        ),
        within_seconds=20,
        what="the events of the visit",
    )
    assert sorted(row[0] for row in kept) == sorted(expected)
    assert len({row[2] for row in kept}) == 1
    assert client.cookies["visit"] not in str(kept)
    actions = [row[3]["action"] for row in kept if row[0] == "rescue_action"]
    assert actions == ["without", "why_not"]
    # What was taken is told once: no address of the page repeats it.
    assert "via=" not in results.text.partition("<main")[0]
