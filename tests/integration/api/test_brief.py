"""A listing shows how texts begin, so that its size is bounded."""

from __future__ import annotations

import httpx2
import pytest

SHOWN = 500


@pytest.mark.requirement("P11")
def test_a_listing_cuts_texts_and_says_so_and_one_entry_is_whole(
    caller: httpx2.Client,
) -> None:
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
