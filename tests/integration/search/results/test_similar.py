"""What is like an entry: near to it by meaning or about its things, not its thread."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest

from shared.access.scope import Scope
from shared.entries.draft import EntryDraft
from shared.entries.saving.save import save_page, tombstone
from shared.errors import DatabaseQueryError, GoneError, NotFoundError
from shared.postgres.pool import connection
from shared.search.response import similar_hits
from shared.search.retrieval.modules import similar_branches as ways
from tests.support.fixtures.asking import ANNA, BEN, ELSEWHERE, Asking

TRIP = "Klystron gallery interlock tripped on reflected power near HCM03"
ENTRIES = (
    EntryDraft("api", "trip", TRIP, title="Trip"),
    EntryDraft("api", "reply", f"{TRIP}, reset at nine", reply_to="trip"),
    EntryDraft("api", "again", "Klystron interlock tripped on reflected power, HCM 3"),
    EntryDraft("api", "near", "Klystron interlock tripped on reflected power"),
    EntryDraft("api", "thing", "HCM3: new cable drawn"),
    EntryDraft("api", "ben", TRIP, readers=("ben",)),
    EntryDraft("api", "other", "Lunch menu of the canteen"),
)


def similar(
    asking: Asking, entry_id: UUID, scope: Scope = ANNA, **fields: Any
) -> dict[str, Any]:
    plan = asking.plan("", scope, **fields)
    return similar_hits.find_similar_hits(asking.context, plan, entry_id)


def names(found: dict[str, Any]) -> list[str]:
    return [one["external_id"] for one in found["results"]]


@pytest.mark.requirement("I22", "P10")
def test_what_is_like_an_entry_is_found_and_nothing_of_its_own_thread(asking):
    ids = asking.write(*ENTRIES)
    asking.write(EntryDraft("api", "theirs", TRIP), tenant="elsewhere")

    found = similar(asking, ids["trip"])

    assert names(found)[:3] == ["again", "thing", "near"]
    assert not {"trip", "reply", "ben", "theirs"} & set(names(found))
    first, second, third = found["results"][:3]
    assert first["found_by"] == ["same_things", "semantic"]
    assert (first["scores"]["things"], first["rank"]) == (1.0, 1)
    assert (second["found_by"][0], third["found_by"]) == ("same_things", ["semantic"])
    assert [(one["name"], one["status"]) for one in found["branches"]] == [
        ("semantic", "ok"),
        ("same_things", "ok"),
    ]
    assert "ben" in names(similar(asking, ids["trip"], BEN))
    # From within the thread, too.
    assert not {"trip", "reply"} & set(names(similar(asking, ids["reply"])))
    assert len(names(similar(asking, ids["trip"], limit=2))) == 2
    later = {"date_from": "2199-01-01T00:00:00Z"}
    assert names(similar(asking, ids["trip"], filters=later)) == []


@pytest.mark.requirement("I22")
def test_an_entry_without_vectors_or_things_says_which_way_was_not_gone(asking):
    ids = asking.write(*ENTRIES)
    with connection(asking.pool) as conn:
        conn.execute("UPDATE embedding_model SET live = false, active = false")
    found = similar(asking, ids["trip"])
    assert names(found) == ["again", "thing"]
    assert (found["branches"][0]["status"], found["branches"][0]["reason"]) == (
        "skipped",
        "no_model",
    )
    found = similar(asking, ids["other"])
    assert (found["results"], found["total_results"]) == ([], 0)
    assert {one["status"] for one in found["branches"]} == {"skipped"}


def test_what_is_gone_absent_or_out_of_sight_is_like_nothing(asking):
    ids = asking.write(*ENTRIES)
    with connection(asking.pool) as conn:
        tombstone(conn, "default", ids["near"], reason=None, stages=[])
    with pytest.raises(GoneError):
        similar(asking, ids["near"])
    assert "near" not in names(similar(asking, ids["trip"]))
    out_of_sight = replace(ANNA, logbooks=("none",))
    for entry_id, scope in (
        (uuid4(), ANNA),
        (ids["ben"], ANNA),
        (ids["trip"], ELSEWHERE),
        (ids["trip"], out_of_sight),
    ):
        with pytest.raises(NotFoundError):
            similar(asking, entry_id, scope)


@pytest.mark.requirement("I22")
def test_of_a_long_thread_nothing_is_like_it_however_old(asking):
    past = datetime(1999, 1, 1, tzinfo=UTC)
    old = EntryDraft("api", "old", TRIP, reply_to="trip", entry_time=past)
    ids = asking.write(*ENTRIES, old)
    newer = [EntryDraft("api", f"{n}", "Yes", reply_to="trip") for n in range(1000)]
    # A page as large as the whole thread may outlast a statement's time.
    for at in range(0, len(newer), 100):
        with connection(asking.pool) as conn:
            save_page(conn, "default", newer[at : at + 100], stages=[], editor="test")

    shown = names(similar(asking, ids["trip"]))

    assert {"again", "near"} <= set(shown)
    assert not {"trip", "reply", "old"} & set(shown)


@pytest.mark.parametrize(
    ("statement", "status"),
    [("SELECT pg_sleep(10)", "timeout"), ("SELECT 1 / 0", "error")],
    ids=["slow", "refused"],
)
def test_a_way_that_fails_takes_nothing_of_the_other_along(
    asking, monkeypatch, statement, status
):
    ids = asking.write(*ENTRIES)
    monkeypatch.setattr(ways, "_SAME_THINGS", statement)
    monkeypatch.setattr(similar_hits, "STEP_MS", 1000)

    found = similar(asking, ids["trip"])

    assert [one["status"] for one in found["branches"]] == ["ok", status]
    assert {"again", "near"} <= set(names(found))
    # Where nothing was found out, nothing is said to be empty.
    with connection(asking.pool) as conn:
        conn.execute("UPDATE embedding_model SET live = false, active = false")
    with pytest.raises(DatabaseQueryError):
        similar(asking, ids["trip"])
