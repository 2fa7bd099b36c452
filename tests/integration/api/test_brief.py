"""A listing shows how texts begin, so that its size is bounded."""

from typing import Any

import pytest

from tests.support.written import ok

SHOWN = 500


@pytest.mark.requirement("P11")
def test_a_listing_cuts_texts_and_says_so_and_one_entry_is_whole(caller) -> None:
    texts = ["x" * SHOWN, "\U0001f600" * SHOWN + "tail", "short"]
    pushed = [
        caller.post("/v1/entries", json={"text": text}).json()["entry_id"]
        for text in texts
    ]
    page = caller.get("/v1/entries?sort=received").json()
    found = {item["entry_id"]: item["text"] for item in page["items"]}
    assert [found[entry_id] for entry_id in pushed] == [t[:SHOWN] for t in texts]
    assert page["cut"] == {"entries": 1, "chars": len("tail")}
    whole = caller.get(f"/v1/entries/{pushed[1]}").json()
    assert whole["text"] == texts[1]


@pytest.mark.requirement("U35")
@pytest.mark.parametrize("by", ["id", "permalink", "thread", "thread_id", "changes"])
def test_whatever_tells_entries_takes_how_much_of_them(caller, by) -> None:
    text = "the first words " * SHOWN
    entry = {"source": "api", "external_id": "L-1", "text": text}
    entry_id = caller.post("/v1/entries", json=entry).json()["entry_id"]
    reply = {"text": "seen", "external_id": "L-2", "reply_to": "L-1"}
    caller.post("/v1/entries", json=reply)
    thread_id = caller.get(f"/v1/entries/{entry_id}").json()["thread_id"]
    path = {
        "id": f"/v1/entries/{entry_id}",
        "permalink": "/e/api/L-1",
        "thread": f"/v1/entries/{entry_id}/thread",
        "thread_id": f"/v1/threads/{thread_id}",
        "changes": "/v1/changes",
    }[by]

    def told(**asked: str | int) -> tuple[dict[str, Any], dict[str, int]]:
        body = ok(caller.get(path, params=asked))
        several = body.get("entries") or [
            one["entry"] for one in body.get("items", [{"entry": body}])
        ]
        return max(several, key=lambda one: len(one["text"])), body["cut"]

    assert told(detail="full")[0]["text"] == text
    brief, cut = told(detail="brief")
    assert brief["text"] == text[:SHOWN]
    assert cut == {"entries": 1, "chars": len(text) - SHOWN}
    few, cut = told(detail="full", max_chars=9)
    assert few["text"] == text[:9]
    assert cut["chars"] >= len(text) - 9
    named = told(fields="external_id,text", max_chars=len(text))[0]
    assert named.keys() - {"cut"} == {"external_id", "text"}
    for wrong in ({"detail": "all"}, {"fields": "colour"}, {"max_chars": -1}):
        assert caller.get(path, params=wrong).status_code == 422
