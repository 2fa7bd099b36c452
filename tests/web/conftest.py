"""The logbook that the pages of the browser show."""

from __future__ import annotations

import io
from typing import Any

import httpx2
import pytest
from PIL import Image

FELL = "I think it simply fell shut when air sagged."
HOSTILE = (
    "<script>document.title='ran'</script><img src=x onerror=alert(1)>"
    '"><svg onload=alert(2)>{{7*7}} javascript:alert(3) '
    "<a href='//evil.example'>pump</a>"
)
ENTRIES: list[dict[str, Any]] = [
    {
        "external_id": "OPS-1",
        "title": "Gate valve 8 closed with beam in the machine",
        "text": f"Gate valve 8 closed at 02:10 and the beam was lost. {FELL} "
        "Compressed air was at 4.1 bar.",
        "entry_time": "2026-02-03T02:30:00Z",
        "kind": "incident",
    },
    {
        "external_id": "OPS-2",
        "title": "Re: Gate valve 8 closed",
        "text": "Compressor restarted at 03:40, gate valve 8 is open again.",
        "reply_to": "OPS-1",
        "entry_time": "2026-02-03T04:00:00Z",
    },
    *(
        {
            "external_id": f"OPS-{n}",
            "title": f"Gate valve {n} checked",
            "text": f"Gate valve {n} moves freely. Nothing to be done.",
            "entry_time": f"2026-02-{n:02}T10:00:00Z",
        }
        for n in range(10, 24)
    ),
    {
        "external_id": "X<1>",
        "title": HOSTILE,
        "text": HOSTILE,
        "authors": [HOSTILE[:90]],
        "tags": ["<b>tag</b>"],
        "metadata": {"<i>key</i>": "<u>value</u>"},
    },
]
FIRST = {**ENTRIES[0], "text": "Gate valve 8 closed."}


@pytest.fixture
def logbook(client: httpx2.Client) -> httpx2.Client:
    """The caller of a facility whose entries can be found, one with a picture."""
    _push(client, [FIRST])
    _push(client, ENTRIES)
    picture = io.BytesIO()
    Image.new("RGB", (320, 240), "navy").save(picture, "PNG")
    entry = client.get("/e/api/OPS-1").json()
    sent = client.post(
        f"/v1/entries/{entry['entry_id']}/attachments",
        files={"file": ("scope.png", picture.getvalue(), "image/png")},
    )
    assert sent.status_code == 201, sent.text
    return client


def _push(client: httpx2.Client, entries: list[dict[str, Any]]) -> None:
    answer = client.post(
        "/v1/entries?wait_for=index&wait_ms=30000", json={"entries": entries}
    )
    assert answer.status_code in {200, 201}, answer.text
