"""What the digest of a shift tells: its entries, and what stands open from before."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest

from shared.access.scope import Scope
from shared.cards.standing_locks import find_standing, load_lock_entries
from shared.entries.draft import EntryDraft
from shared.postgres.pool import connection
from tests.support.fixtures.asking import ANNA, BEN, ELSEWHERE, Asking
from tests.support.read_page import read_page

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


def locks(told: dict[str, Any]) -> list[tuple[str, bool, str]]:
    found = told["sections"]["locks"]
    return [(one["permalink"][7:], one["is_new"], one["quote"]) for one in found]


def written(name: str, text: str, at: str, **more: Any) -> dict[str, Any]:
    return {"external_id": name, "text": text, "entry_time": at, **more}


@pytest.mark.requirement("I09")
def test_a_lock_is_listed_until_it_is_removed_however_long_ago_it_was_applied(
    caller: httpx2.Client,
) -> None:
    push(
        caller,
        written("L-1", "Pump off. LOTO-2026-0117 on P-201.", ago(days=40)),
        written("L-2", "LOTO-2026-0118 on P-202.", ago(days=2)),
        written("L-3", "MOD-3 locked out.", ago(days=2)),
        written("L-4", "LOTO-2026-0118 removed.", ago(hours=3)),
        written("L-5", "Sperre entfernt.", ago(days=1), reply_to="L-3"),
        written("L-6", "RF2 tripped, tagged out.", ago(hours=1), kind="incident"),
    )

    told = digest(caller)

    assert locks(told) == [
        ("L-6", True, "RF2 tripped, tagged out."),
        ("L-1", False, "LOTO-2026-0117 on P-201."),
    ]
    page = caller.get(
        "/digest",
        params={"since": SINCE.isoformat()},
        headers={"accept": "text/html"},
    )
    shown = read_page(page.text)
    heads = [one.one("h2").text for one in shown.every("section", cls="shift")]
    assert "Locks and tags 2" in heads
    quoted = [one.text for one in shown.every("q")]
    assert quoted == ["RF2 tripped, tagged out.", "LOTO-2026-0117 on P-201."]
    tags = [one.text for one in shown.every("span", cls="tag")]
    assert tags == ["still open from before, 40 d old"]
    # An incident with a lock is both, and a removal is one entry among others.
    assert cited(told, "open") == [("/e/api/L-6@1", True)]
    assert cited(told, "new") == [("/e/api/L-4@1", True)]


@pytest.mark.requirement("I09")
def test_a_digest_of_a_shift_is_golden_and_the_same_twice(
    caller: httpx2.Client,
) -> None:
    quiet = {"kind": "shift_summary"}
    push(
        caller,
        incident("I-0", "RF2 tripped.", ago(days=3)),
        written("L-0", "LOTO-1 on P-201.", ago(days=90)),
        written("L-1", "LOTO-2 on P-202.", ago(hours=7)),
        incident("I-1", "QF9 tripped.", ago(hours=6)),
        incident("I-2", "Dryer tripped. It is repaired.", ago(hours=5)),
        written("E-1", "Visitors came.", ago(hours=4)),
        written("L-2", "LOTO-2 removed.", ago(hours=3)),
        written("H-1", "Calm night.", ago(hours=2), **quiet),
    )

    told, again = digest(caller), digest(caller)

    found = {
        name: [
            (one["permalink"], one["state"], one["quote"], one["is_new"])
            for one in items
        ]
        for name, items in told["sections"].items()
    }
    assert found == {
        "handover": [
            ("/e/api/H-1", None, None, True),
        ],
        "open": [
            ("/e/api/I-1", "open", None, True),
            ("/e/api/I-0", "open", None, False),
        ],
        "resolved": [("/e/api/I-2", "resolved", None, True)],
        "locks": [("/e/api/L-0", None, "LOTO-1 on P-201.", False)],
        "devices": [],
        "new": [
            ("/e/api/L-2", None, None, True),
            ("/e/api/E-1", None, None, True),
            ("/e/api/L-1", None, None, True),
        ],
    }
    assert {**again, "to": None} == {**told, "to": None}


def draft(name: str, text: str, days: float, **more: Any) -> EntryDraft:
    at = NOW - timedelta(days=days)
    return EntryDraft("api", name, text, entry_time=at, **more)


def test_locks_are_those_that_a_listing_would_hold(asking: Asking) -> None:
    later = NOW + timedelta(days=1)
    asking.write(
        draft("L-1", "LOTO-1 on MOD-1.", 9),
        draft("L-2", "LOTO-2 on MOD-2.", 8, readers=["ben"]),
        draft("L-3", "LOTO-3 on MOD-3.", 7, visible_from=later),
        # Who may not read that it was removed is told that it hangs.
        draft("L-4", "LOTO-1 removed.", 6, readers=["ben"]),
    )

    def standing(scope: Scope) -> list[str]:
        since = NOW - timedelta(days=30)
        with connection(asking.pool) as conn:
            entries = load_lock_entries(conn, scope, since, NOW, [])
        return [one.quote for one in find_standing(entries, NOW)[0]]

    assert standing(ANNA) == ["LOTO-1 on MOD-1."]
    assert standing(BEN) == ["LOTO-2 on MOD-2."]
    assert standing(ELSEWHERE) == []
