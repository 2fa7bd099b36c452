"""A saved search through the whole system: an entry comes, and its owner is told."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.support.waiting import until

PATH = "/v1/saved-searches"


@pytest.mark.requirement("I08")
def test_who_saved_a_search_is_told_of_what_comes_and_the_dry_run_counts_it(client):
    given = {
        "name": "RF trips",
        "request": {"query": "cavity tripped"},
        "alert": {"enabled": True},
    }
    made = client.post(PATH, json=given)
    assert made.status_code == 201, made.text
    where = f"{PATH}/{made.json()['id']}"
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
        answer = client.get(f"{where}/alerts")
        assert answer.status_code == 200, answer.text
        return list(answer.json()["items"])

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
        answer = client.post(f"{where}/preview", json={"days": days})
        assert answer.status_code == 200, answer.text
        previews[days] = answer.json()["would_have_fired"]
    assert previews == {1: 2, 30: 3}
