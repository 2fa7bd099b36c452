"""The rows of the conformance kit that are for programs which push, by every way in."""

import json
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any
from urllib.parse import quote
from zoneinfo import ZoneInfo

import httpx2
import psycopg
import pytest

from tests.support.fixtures.system import System
from workers.adapters.kit.reading import summer_time_nights
from workers.adapters.kit.stored import Stock, StoredEntry

SOURCE, ZONE = "hall-b", ZoneInfo("Europe/Berlin")
LIMIT_BYTES = 1_000_000
CHAIN = 50
HALF = timedelta(minutes=30)
LINES = {"Content-Type": "application/x-ndjson"}
JSON = {"Content-Type": "application/json"}
ROADS = ("one", "batch", "lines", "put")

Entry = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Program:
    """A program that pushes to one source, always by the same way in."""

    client: httpx2.Client
    database: str
    tenant: str
    road: str

    def send(self, *entries: Entry) -> list[str]:
        """Push entries; return what became of each, or why nothing did."""
        whole = [{"source": SOURCE, **one} for one in entries]
        if self.road == "batch":
            answer = self.client.post("/v1/entries", json={"entries": whole})
            return [_verdict(one) for one in answer.json()["items"]]
        if self.road == "lines":
            body = "".join(f"{json.dumps(one)}\n" for one in whole)
            answer = self.client.post("/v1/entries", content=body, headers=LINES)
            *told, _ = map(json.loads, answer.text.splitlines())
            return [_verdict(one) for one in told]
        return [_verdict(self._alone(one).json()) for one in whole]

    def send_raw(self, text: bytes) -> str:
        """Push one entry whose text is these bytes; return why it is refused."""
        head = f'{{"source": "{SOURCE}", "external_id": "raw", "text": "'.encode()
        body = head + text + b'"}'
        if self.road == "batch":
            body = b'{"entries": [' + body + b"]}"
        if self.road == "put":
            where = f"/e/{SOURCE}/raw"
            return _verdict(self.client.put(where, content=body, headers=JSON).json())
        headers = LINES if self.road == "lines" else JSON
        answer = self.client.post("/v1/entries", content=body, headers=headers)
        told = json.loads(answer.text.splitlines()[0])
        return _verdict(told.get("items", [told])[0])

    def delete(self, external_id: str) -> None:
        """Delete an entry by its address."""
        address = f"/v1/entries/{self.entry(external_id).id}"
        assert self.client.delete(address).status_code == 204

    @contextmanager
    def stock(self) -> Iterator[Stock]:
        """Look at what is stored."""
        with psycopg.connect(self.database) as conn:
            yield Stock(conn, self.tenant, SOURCE)

    def entry(self, external_id: str) -> StoredEntry:
        """Look at one entry as it is stored."""
        with self.stock() as stock:
            return stock.entry(external_id)

    def _alone(self, entry: Entry) -> httpx2.Response:
        if self.road == "one":
            return self.client.post("/v1/entries", json=entry)
        where = f"/e/{SOURCE}/{quote(entry['external_id'], safe='')}"
        return self.client.put(where, json=entry)


def _verdict(told: dict[str, Any]) -> str:
    error = told.get("error")
    return str(error["code"] if error else told["status"])


@pytest.fixture(scope="module")
def hall(make_api: Callable[..., System]) -> System:
    """An API that knows one source, whose times have a zone."""
    return make_api(LOGCHORD_SOURCES=json.dumps({SOURCE: {"timezone": ZONE.key}}))


@pytest.fixture(params=ROADS)
def program(hall, tenant, request) -> Iterator[Program]:
    with hall.client(hall.key(tenant=tenant)) as client:
        yield Program(client, hall.database, tenant, request.param)


def some(count: int, **given: Any) -> list[Entry]:
    return [
        {
            "external_id": f"B-{number}",
            "title": f"Title {number}",
            "text": f"Text of entry {number}",
            "entry_time": f"2026-03-02T05:{number:02}:00Z",
            **given,
        }
        for number in range(count)
    ]


@pytest.mark.requirement("ADP3")
def test_what_is_sent_again_writes_nothing(program: Program):
    entries = some(30)
    assert program.send(*entries) == ["created"] * 30
    with program.stock() as stock:
        revisions = stock.revisions()
        stock.finish_work()

    assert program.send(*reversed(entries)) == ["unchanged"] * 30

    with program.stock() as stock:
        assert (stock.revisions(), stock.due()) == (revisions, 0)


@pytest.mark.requirement("ADP7")
def test_each_edit_is_one_revision_and_no_edit_is_none(program: Program):
    (entry,) = some(1)
    program.send(entry)
    changes: list[Entry] = [
        {"title": "Another title"},
        {"text": "New text"},
        {"tags": ["RF", "Vacuum"]},
        {"text": entry["text"]},
    ]

    for number, change in enumerate(changes, 2):
        entry |= change
        assert program.send(entry) == ["updated"]
        assert program.entry("B-0").revision == number
    assert program.send(entry) == ["unchanged"]

    with program.stock() as stock:
        assert stock.entry("B-0").revision == len(changes) + 1
        assert stock.revisions() == len(changes) + 1


@pytest.mark.requirement("ADP9")
def test_what_is_deleted_is_a_tombstone_and_may_come_back(program: Program):
    entries = some(3)
    program.send(*entries)

    program.delete("B-1")
    with program.stock() as stock:
        assert stock.live() == {"B-0", "B-2"}
    assert program.send(entries[1]) == ["updated"]

    with program.stock() as stock:
        assert stock.live() == {"B-0", "B-1", "B-2"}
        assert stock.entry("B-1").revision == 2


@pytest.mark.requirement("ADP11")
def test_threads_are_stable_whatever_refers_to_whom(program: Program):
    chain = some(CHAIN)
    for before, entry in pairwise(chain):
        entry["reply_to"] = before["external_id"]
    random.Random(11).shuffle(chain)
    others = [
        {"external_id": "lost", "text": "x", "reply_to": "nobody"},
        {"external_id": "own", "text": "x", "reply_to": "own"},
        {"external_id": "left", "text": "x", "reply_to": "right"},
        {"external_id": "right", "text": "x", "reply_to": "left"},
    ]

    for entry in (*chain[:20], *others, *chain[20:]):
        assert program.send(entry) == ["created"]

    found = threads(program)
    assert len({found[one["external_id"]] for one in chain}) == 1
    assert found["left"] == found["right"] is not None
    alone = [found["lost"], found["own"], found["left"], found["B-0"]]
    assert len({one for one in alone if one}) == sum(1 for one in alone if one)
    assert set(program.send(*others, *chain)) == {"unchanged"}
    assert threads(program) == found


def threads(program: Program) -> dict[str, Any]:
    with program.stock() as stock:
        return {one.external_id: one.thread_id for one in stock.entries()}


@pytest.mark.requirement("ADP15")
def test_a_time_is_the_right_instant_or_flagged_or_refused(program: Program):
    spring, autumn = summer_time_nights(ZONE)
    in_a_year = datetime.now(UTC).replace(microsecond=0) + timedelta(days=365)
    exact = [night + HALF * n for night in (spring, autumn) for n in (-3, -1, 1, 3)]
    exact += [datetime(1969, 7, 20, 20, 17, tzinfo=UTC), in_a_year]
    wall = [
        # Never: as much later as the gap is wide. Twice: the first of the two.
        ("2024-03-31T02:30:00", spring + HALF, ("time_nonexistent",)),
        ("2024-10-27T02:30:00", autumn - HALF, ("time_ambiguous",)),
        ("2024-06-10 04:12", datetime(2024, 6, 10, 2, 12, tzinfo=UTC), ()),
    ]
    asked: list[tuple[str, datetime, tuple[str, ...]]] = [
        *((at.isoformat(), at, ()) for at in exact[:-1]),
        (in_a_year.isoformat(), in_a_year, ("time_in_future",)),
        *wall,
    ]
    entries = [
        {"external_id": f"T-{place}", "text": "x", "entry_time": text}
        for place, (text, _, _) in enumerate(asked)
    ]

    assert program.send(*entries) == ["created"] * len(entries)

    with program.stock() as stock:
        for place, (text, at, flags) in enumerate(asked):
            one = stock.entry(f"T-{place}")
            assert (one.entry_time, tuple(one.flags)) == (at, flags), text
    refused = {
        "9999-12-31T23:59:59Z": "time_out_of_range",
        "1899-12-31T00:00:00Z": "time_out_of_range",
        "not a time": "validation_failed",
        "32.13.2024 25:61": "validation_failed",
    }
    for text, code in refused.items():
        entry = {"external_id": "refused", "text": "x", "entry_time": text}
        assert program.send(entry) == [code], text
    with program.stock() as stock:
        assert len(stock.entries()) == len(entries)


@pytest.mark.requirement("ADP15")
def test_a_merge_keeps_what_was_odd_about_a_time(hall: System, tenant: str):
    entry = {"external_id": "1", "text": "x", "entry_time": "2024-10-27T02:30:00"}
    with hall.client(hall.key(tenant=tenant)) as client:
        program = Program(client, hall.database, tenant, "one")
        program.send(entry)
        where = f"/v1/entries/{program.entry('1').id}"

        client.patch(where, json={"title": "T"})
        assert program.entry("1").flags == ["time_ambiguous"]
        client.patch(where, json={"entry_time": "2024-10-28T02:30:00"})
        assert program.entry("1").flags == []


@pytest.mark.requirement("ADP17")
def test_a_text_arrives_as_it_was_written_or_is_refused(program: Program):
    texts = {
        "UTF-8": "Größe 3 µm, 温度",
        "emoji": "Beam is back 🎉 👩🏽\u200d🔬",
        "right to left": "התחלה اختبار text",
        "combining": "A\u030angstro\u0308m",
        "line ends": "one\r\ntwo\n\nfour\n",
        "replaced before": "begin \ufffd end",
        "a mark inside": "begin \ufeff end",
    }
    entries = [{"external_id": name, "text": text} for name, text in texts.items()]

    assert program.send(*entries) == ["created"] * len(texts)

    for name, text in texts.items():
        assert program.entry(name).text == text
    # What a source that is polled would have repaired is its program's to mend.
    refused = {
        b"Gr\xf6\xdfe 3 \x80": "invalid_encoding",
        b"begin \xc3( end": "invalid_encoding",
        b"begin \xed\xa0\x80 end": "invalid_encoding",
        rb"begin \u0000 end": "nul_character",
        rb"begin \ud800 end": "lone_surrogate",
    }
    for data, code in refused.items():
        assert program.send_raw(data) == code, data
    with program.stock() as stock:
        assert len(stock.entries()) == len(texts)


@pytest.mark.requirement("ADP18")
@pytest.mark.parametrize("kind", ["plain", "html", "markdown", "elcode", "textile"])
def test_nothing_is_unescaped_and_no_mark_is_lost(program: Program, kind: str):
    texts = [
        "x &lt; y and &amp;lt; stays",
        "Fish &amp; chips &amp;amp; more",
        "AT&T, 5 > 3 &nosuch; &",
        "If a<b and c>d then <PSS> [b]is[/b] *not* _set_ {x} %5B # 1",
    ]
    entries = [
        {"external_id": str(n), "text": text, "title": text, "text_format": kind}
        for n, text in enumerate(texts)
    ]

    assert program.send(*entries) == ["created"] * len(texts)

    with program.stock() as stock:
        kept = [stock.entry(str(n)) for n in range(len(texts))]
    assert [(one.title, one.text) for one in kept] == [(text, text) for text in texts]


@pytest.mark.requirement("ADP20", "B8")
def test_what_is_missing_is_legal_and_what_is_too_much_costs_itself(program: Program):
    legal: list[Entry] = [
        {"external_id": "nobody", "text": "x", "authors": []},
        {"external_id": "no title", "text": "x", "title": ""},
        {"external_id": "no text", "text": "", "title": "T"},
        {"external_id": "neither", "text": "", "title": ""},
        {"external_id": "largest", "text": "x" * LIMIT_BYTES},
        {"external_id": "many tags", "text": "x", "tags": [str(n) for n in range(64)]},
    ]
    wide = {f"key{number:05}": "value" for number in range(10_000)}
    refused: dict[str, Entry] = {
        "body_too_large": {"text": "x" * (LIMIT_BYTES + 1)},
        "validation_failed": {"text": "x", "tags": [str(n) for n in range(200)]},
        "metadata_too_wide": {"text": "x", "metadata": wide},
    }

    assert program.send(*legal) == ["created"] * len(legal)
    for code, fields in refused.items():
        assert program.send({"external_id": "refused", **fields}) == [code]

    with program.stock() as stock:
        stored = {one.external_id for one in stock.entries()}
    assert stored == {one["external_id"] for one in legal}
