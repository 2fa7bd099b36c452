"""A listing of entries takes the filters of a search, and tells what is wanted."""

from typing import Any

import httpx2
import pytest

from tests.support.written import ok

LONG = "pump " * 200


@pytest.fixture
def written(caller: httpx2.Client) -> httpx2.Client:
    for name, day, text in (("1", "01", "beam"), ("2", "02", LONG), ("3", "03", "RF")):
        time = f"2026-03-{day}T10:00:00Z"
        entry = {"external_id": name, "text": text, "title": "T", "entry_time": time}
        assert caller.post("/v1/entries", json=entry).status_code == 201
    return caller


def listed(client: httpx2.Client, **params: Any) -> dict[str, Any]:
    return ok(client.get("/v1/entries", params=params))


def names(body: dict[str, Any]) -> list[str]:
    return [one["external_id"] for one in body["items"]]


def test_the_filters_of_a_search_narrow_a_listing_and_its_total(written) -> None:
    every = {one["external_id"]: one["entry_id"] for one in listed(written)["items"]}
    for given, expected in (
        ({"date_from": "2026-03-02"}, ["3", "2"]),
        ({"date": "2026-03-02"}, ["2"]),
        ({"date_from": "2026-03-01", "date_to": "2026-03-01"}, ["1"]),
        ({"time_range": ["2026-03-01", "2026-03-02"]}, ["2", "1"]),
        ({"entry_id": [every["1"], "3"]}, ["3", "1"]),
        ({"exclude_entry_ids": every["2"]}, ["3", "1"]),
        ({"source": "api", "date_to": "2026-03-02", "sort": "oldest"}, ["1", "2"]),
        # Nobody has read the entries yet: none has a fact.
        ({"author": "roth"}, []),
        ({"kind": "incident", "metadata.run": "7"}, []),
    ):
        body = listed(written, **given)
        assert (names(body), body["total"]) == (expected, len(expected)), given
    first = listed(written, date_to="2026-03-02", limit=1)
    rest = listed(written, date_to="2026-03-02", limit=1, cursor=first["next_cursor"])
    assert names(first) + names(rest) == ["2", "1"]
    # The place of one listing is none of another.
    other = {"limit": 1, "cursor": first["next_cursor"]}
    assert written.get("/v1/entries", params=other).status_code == 400


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"kind": "nonsense"}, "validation_failed"),
        ({"date_from": "2201-01-01"}, "time_out_of_range"),
        ({"colour": "red"}, "unknown_filter"),
        ({"fields": "text,colour"}, "validation_failed"),
        ({"detail": "all"}, "validation_failed"),
    ],
)
def test_what_a_listing_cannot_do_is_refused(caller, given, code) -> None:
    answer = caller.get("/v1/entries", params=given)
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, code)


def test_a_parameter_that_a_listing_does_not_take_is_answered_with_all_that_it_does(
    caller: httpx2.Client,
) -> None:
    error = caller.get("/v1/entries", params={"auther": "x"}).json()["error"]
    assert "Did you mean author?" in error["message"]
    for name in error["details"]["allowed"]:
        asked = caller.get("/v1/entries", params={name: "x"}).json()
        assert asked.get("error", {}).get("code") != "unknown_filter", name


def test_a_listing_tells_as_much_as_is_wanted(written: httpx2.Client) -> None:
    brief, whole = listed(written), listed(written, detail="full")
    assert [len(one["text"]) for one in brief["items"]] == [2, 500, 4]
    assert [len(one["text"]) for one in whole["items"]] == [2, len(LONG), 4]
    assert whole["cut"] == {"entries": 0, "chars": 0}
    fields = listed(written, fields="external_id, text", max_chars=4)
    assert [one["text"] for one in fields["items"]] == ["RF", "pu", ""]
    assert all(set(one) == {"external_id", "text"} for one in fields["items"])
    assert fields["cut"] == {"entries": 2, "chars": len(LONG) - 2 + 4}


def test_changes_tell_the_fields_that_are_wanted(written: httpx2.Client) -> None:
    # A change is listed once every older transaction of anybody has ended.
    params: dict[str, str | int] = {"fields": "text", "wait_ms": 20_000}
    body = written.get("/v1/changes", params=params).json()
    assert {tuple(one["entry"]) for one in body["items"]} == {("text",)}
    answer = written.get("/v1/changes", params={"fields": "colour"})
    assert answer.status_code == 422


def test_what_is_dated_in_the_future_leads_no_list_of_the_newest(written) -> None:
    for name, year in (("ahead", 2099), ("further", 2100)):
        time = f"{year}-01-01T00:00:00Z"
        entry = {"external_id": name, "text": "beam", "entry_time": time}
        assert written.post("/v1/entries", json=entry).status_code == 201
    every = ["3", "2", "1", "further", "ahead"]
    assert names(listed(written)) == every
    found: list[str] = []
    page: dict[str, Any] = {"next_cursor": None}
    while not found or page["next_cursor"]:
        after = {"cursor": page["next_cursor"]} if page["next_cursor"] else {}
        page = listed(written, limit=2, **after)
        found += names(page)
    assert found == every
    oldest = listed(written, sort="oldest")
    assert names(oldest) == ["1", "2", "3", "ahead", "further"]
