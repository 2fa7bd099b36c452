"""What the digest of a shift tells: its entries, and what stands open from before."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest

from shared.access.scope import Scope
from shared.cards.carried_actions import load_actions_left
from shared.cards.standing_locks import find_standing, load_lock_entries
from shared.entries.draft import EntryDraft
from shared.postgres.pool import connection
from shared.text.facility.facility import PLAIN
from tests.support.fixtures.asking import ANNA, BEN, ELSEWHERE, Asking
from tests.support.read_page import read_page
from tests.support.written import ok

NOW = datetime.now(UTC).replace(microsecond=0)
# Where the shift that the digest is of began.
SINCE = NOW - timedelta(hours=8)


def ago(**gap: float) -> str:
    return (NOW - timedelta(**gap)).isoformat()


def push(client: httpx2.Client, *entries: dict[str, Any]) -> None:
    answer = client.post("/v1/entries", json={"entries": [*entries]})
    assert answer.is_success, answer.text


def digest(client: httpx2.Client) -> dict[str, Any]:
    return ok(client.get("/v1/digest", params={"since": SINCE.isoformat()}))


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


@pytest.mark.requirement("I09")
@pytest.mark.parametrize(
    ("since", "code"),
    [
        *(("0001-01-01", "time_out_of_range"), ("2201-01-01", "time_out_of_range")),
        *(("2026-02-30", "validation_failed"), ("yesterday", "validation_failed")),
    ],
)
def test_a_time_that_is_none_or_too_far_is_refused(client, since, code) -> None:
    answer = client.get("/v1/digest", params={"since": since})
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, code)


def test_a_digest_that_was_shown_before_has_what_was_written_since(
    caller: httpx2.Client,
) -> None:
    push(caller, incident("I-1", "RF2 tripped.", ago(days=3)))
    push(caller, written("L-1", "LOTO-7 on P-201.", ago(days=2)))
    before = [digest(caller) for _ in range(2)]
    assert all(cited(one, "open") == [("/e/api/I-1@1", False)] for one in before)
    assert all(locks(one)[0][0] == "L-1" for one in before)

    push(caller, written("R-1", "Fixed.", ago(hours=1), reply_to="I-1"))
    push(caller, written("L-2", "LOTO-7 removed.", ago(hours=1)))
    told = digest(caller)
    assert (cited(told, "open"), locks(told)) == ([], [])
    assert cited(told, "resolved") == [("/e/api/I-1@1", True)]

    (reply,) = caller.get("/v1/entries", params={"external_id": "R-1"}).json()["items"]
    assert caller.delete(f"/v1/entries/{reply['entry_id']}").is_success
    assert cited(digest(caller), "open") == [("/e/api/I-1@1", False)]


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
        "/digest", params={"since": SINCE.isoformat()}, headers={"accept": "text/html"}
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


@pytest.mark.requirement("I25")
def test_what_a_handover_asked_for_surfaces_when_three_shifts_left_it(
    caller: httpx2.Client,
) -> None:
    # Without a plan of shifts these are days.
    today = NOW.replace(hour=0, minute=0, second=0)
    third = today - timedelta(days=2)
    asked = [
        ("H-1", third - timedelta(minutes=1), {}),
        # The next two have read it themselves, at midnight still.
        ("H-2", third + timedelta(hours=30), {}),
        ("H-3", third - timedelta(hours=5), {}),
        ("H-4", today - timedelta(days=8), {}),
        ("H-5", third - timedelta(hours=6), {"kind": "logbook"}),
    ]
    push(
        caller,
        *(
            written(
                *(name, f"Calm. Please check pump {name}.", at.isoformat()),
                **{"kind": "shift_summary", **more},
            )
            for name, at, more in asked
        ),
        written("R-3", "Checked.", ago(days=1), reply_to="H-3"),
        written("H-9", "Calm.", ago(hours=1), kind="shift_summary"),
    )

    found = digest(caller)["sections"]["handover"]

    assert [(one["permalink"], one["quote"]) for one in found] == [
        ("/e/api/H-9", None),
        ("/e/api/H-1", "Please check pump H-1."),
    ]


@pytest.mark.requirement("I09")
def test_a_digest_of_a_shift_is_golden_and_the_same_twice(
    caller: httpx2.Client,
) -> None:
    quiet = {"kind": "shift_summary"}
    push(
        caller,
        written("H-0", "Please check RF4.", ago(days=6), **quiet),
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
            ("/e/api/H-0", None, "Please check RF4.", False),
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


def handover(name: str, text: str, days: float, **more: Any) -> EntryDraft:
    return draft(name, text, days, kind="shift_summary", **more)


def draft(name: str, text: str, days: float, **more: Any) -> EntryDraft:
    at = NOW - timedelta(days=days)
    return EntryDraft("api", name, text, entry_time=at, **more)


def left(asking: Asking, scope: Scope = ANNA) -> list[str]:
    span = (NOW - timedelta(days=7), NOW - timedelta(days=2))
    with connection(asking.pool) as conn:
        found = load_actions_left(conn, scope, PLAIN, span, NOW)
    return [one.quote for one in found]


@pytest.mark.requirement("I25")
def test_an_entry_about_the_same_device_and_work_takes_an_action_up(
    asking: Asking,
) -> None:
    asking.write(
        handover("H-1", "Please check the flow of RFC4.", 3),
        handover("H-2", "Bearings of MOD-3 need replacing.", 4),
        handover("H-3", "To do: orbit reference should be saved by physics.", 5),
        handover("H-4", "Please call Oskar about the dewar level.", 6),
        # The device alone, and the work at another device.
        draft("E-1", "RFC4 tripped at noon.", 1),
        draft("E-2", "MOD-2 got new bearings, replaced by Dieter.", 1),
        draft("E-3", "Physics saved the orbit reference of today.", 1),
        # It was before.
        draft("E-4", "Called Oskar about the dewar level.", 6.5),
    )
    everything = [
        "Please check the flow of RFC4.",
        "Bearings of MOD-3 need replacing.",
        "Please call Oskar about the dewar level.",
    ]
    assert left(asking) == everything

    asking.write(
        draft("E-5", "RF cavity RFC4: flow is 15 l/min.", 0.5, readers=["ben"]),
        draft("E-6", "MOD 3 has new bearings.", 0.4),
    )

    assert left(asking) == [everything[0], everything[2]]
    assert left(asking, BEN) == [everything[2]]
    assert left(asking, ELSEWHERE) == []


def test_locks_and_actions_are_those_that_a_listing_would_hold(asking: Asking) -> None:
    later = NOW + timedelta(days=1)
    asking.write(
        draft("L-1", "LOTO-1 on MOD-1.", 9),
        draft("L-2", "LOTO-2 on MOD-2.", 8, readers=["ben"]),
        draft("L-3", "LOTO-3 on MOD-3.", 7, visible_from=later),
        # Who may not read that it was removed is told that it hangs.
        draft("L-4", "LOTO-1 removed.", 6, readers=["ben"]),
        handover("H-1", "Please check the flow.", 3, readers=["ben"]),
        handover("H-2", "Please check the level.", 3, visible_from=later),
    )

    def standing(scope: Scope) -> list[str]:
        since = NOW - timedelta(days=30)
        with connection(asking.pool) as conn:
            entries = load_lock_entries(conn, scope, since, NOW, [])
        return [one.quote for one in find_standing(entries, NOW)[0]]

    assert standing(ANNA) == ["LOTO-1 on MOD-1."]
    assert standing(BEN) == ["LOTO-2 on MOD-2."]
    assert standing(ELSEWHERE) == []
    assert (left(asking), left(asking, BEN)) == ([], ["Please check the flow."])
