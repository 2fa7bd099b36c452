"""A saved search through the whole system: an entry comes, and its owner is told."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.support.waiting import until
from tests.support.written import ok

PATH = "/v1/saved-searches"


@pytest.mark.requirement("I08")
def test_who_saved_a_search_is_told_of_what_comes_and_the_dry_run_counts_it(client):
    given = {
        "name": "RF trips",
        "request": {"query": "cavity tripped"},
        "alert": {"enabled": True},
    }
    where = f"{PATH}/{ok(client.post(PATH, json=given), 201)['id']}"
    long_ago = (datetime.now(UTC) - timedelta(days=3)).isoformat()
    entries = [
        {"external_id": "A", "text": "RF cavity 2 tripped on arc."},
        {"external_id": "B", "text": "Cavity 2 tripped again.", "reply_to": "A"},
        {"external_id": "C", "text": "Cavity 3 tripped on vacuum."},
        {"external_id": "D", "text": "The canteen is closed today."},
        {"external_id": "E", "text": "Cavity 9 tripped.", "entry_time": long_ago},
    ]
    for one in entries:
        answer = client.post(
            "/v1/entries", json=one, params={"wait_for": "index", "wait_ms": 30_000}
        )
        assert answer.status_code == 201, answer.text

    def alerts() -> list[dict[str, Any]]:
        return list(ok(client.get(f"{where}/alerts"))["items"])

    # By words first, and by meaning once there are vectors.
    until(
        lambda: (
            [one["matched_by"] for one in alerts()] == [["keyword", "semantic"]] * 2
        ),
        within_seconds=30,
    )
    told = {
        client.get(f"/v1/entries/{one['entry_id']}").json()["external_id"]
        for one in alerts()
    }
    assert told == {"A", "C"}
    previews = {}
    for days in (1, 30):
        told = ok(client.post(f"{where}/preview", json={"days": days}))
        previews[days] = told["would_have_fired"]
    assert previews == {1: 2, 30: 3}
