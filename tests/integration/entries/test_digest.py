"""What the digest of a shift tells: its entries, and what stands open from before."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest

NOW = datetime.now(UTC).replace(microsecond=0)
# Where the shift that the digest is of began.
SINCE = NOW - timedelta(hours=8)


def ago(**gap: float) -> str:
    return (NOW - timedelta(**gap)).isoformat()


def push(client: httpx2.Client, *entries: dict[str, Any]) -> None:
    answer = client.post("/v1/entries", json={"entries": [*entries]})
    assert answer.is_success, answer.text


def digest(client: httpx2.Client) -> dict[str, Any]:
    answer = client.get("/v1/digest", params={"since": SINCE.isoformat()})
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    return told


def cited(told: dict[str, Any], section: str) -> list[tuple[str, Any]]:
    items = told["sections"][section]
    return [(f"{one['permalink']}@{one['revision']}", one["is_new"]) for one in items]


def incident(name: str, text: str, at: str, **more: Any) -> dict[str, Any]:
    what = {"external_id": name, "text": text, "kind": "incident"}
    return {**what, "entry_time": at, **more}


@pytest.mark.requirement("I09")
def test_an_incident_of_days_ago_that_nobody_resolved_is_still_open(
    caller: httpx2.Client,
) -> None:
    push(
        caller,
        incident("I-1", "RF2 tripped.", ago(days=3)),
        incident("I-2", "QF9 tripped.", ago(days=2)),
        incident("I-3", "Repaired, it is back.", ago(days=1), reply_to="I-2"),
        # The shift resolves one, and one that was resolved before is open again.
        incident("I-4", "Chiller 1 tripped.", ago(days=4)),
        {"text": "Fixed.", "reply_to": "I-4", "entry_time": ago(hours=2)},
        incident("I-5", "Dryer tripped. It is repaired.", ago(days=5)),
        {"text": "It tripped again.", "reply_to": "I-5", "entry_time": ago(hours=1)},
        incident("I-6", "Pump 4 tripped.", ago(hours=3)),
        incident("I-7", "Long forgotten: RF1 tripped.", ago(days=31)),
    )

    told = digest(caller)

    assert cited(told, "open") == [
        ("/e/api/I-6@1", True),
        ("/e/api/I-1@1", False),
        ("/e/api/I-5@1", True),
    ]
    assert cited(told, "resolved") == [("/e/api/I-4@1", True)]
    assert told["complete"] is True
    again = digest(caller)
    assert {**again, "to": None} == {**told, "to": None}
