"""Texts beyond what is usual, pushed and pulled: stored, found, marked and flagged."""

import json
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import islice, product
from string import ascii_lowercase
from typing import Any

import httpx2
import psycopg
import pytest

from shared.embedding.vectors.chunks import MAX_CHUNKS
from shared.opensearch import mapping
from tests.contract.stubs.generic_rest import RestStub
from tests.support.fixtures.system import Factory, System
from tests.support.waiting import until
from workers.adapters.kit.stub import StubEntry

pytestmark = [pytest.mark.slow, pytest.mark.patient, pytest.mark.timeout(400)]
LARGE = 12_000_000
PUSHED, PULLED = "api", "ring"
HUGE = "The klystron tripped at noon. " + "And so on and on. " * 560_000
WORDS = [
    "".join(letters) for letters in islice(product(ascii_lowercase, repeat=5), 0, 10**6)
]
# Each begins with what is asked for.
ODD = {
    "no-space": "quench " + "x" * 1_000_000,
    "distinct-words": "quench " + " ".join(WORDS),
    "combining-marks": "quench e" + "\u0301" * 10_000,
    "newlines": "quench" + "\n" * 100_000 + "end",
}
TEXTS = {"huge": HUGE, **ODD}
# As the stub calls them.
NAMES = {f"e-{number}": name for number, name in enumerate(TEXTS)}
IDS = {name: external_id for external_id, name in NAMES.items()}


@pytest.fixture(scope="module")
def stub() -> Iterator[RestStub]:
    with closing(RestStub("none")) as made:
        now = datetime.now(UTC) - timedelta(minutes=10)
        for number, text in enumerate(TEXTS.values()):
            made.add(StubEntry(number, now, title="", text=text))
        yield made


@pytest.fixture(scope="module")
def system(make_lasting_system: Factory, opensearch: Any, stub: RestStub) -> System:
    made = make_lasting_system(
        opensearch=opensearch.url,
        EMBEDDING_MODEL="hashing-384",
        LOGCHORD_MAX_ENTRY_BYTES=str(LARGE),
        LOGCHORD_MAX_BATCH_BYTES=str(LARGE),
        LOGCHORD_SOURCES=json.dumps({PUSHED: {}, PULLED: dict(stub.settings())}),
    )
    made.bring_up("api", "search", "enhance", "embed", "ingest", "upkeep")
    with made.client() as client:
        for name, text in TEXTS.items():
            body = {"entries": [{"external_id": IDS[name], "text": text}]}
            answer = client.post("/v1/entries", json=body, timeout=120)
            assert answer.is_success, answer.text
    with psycopg.connect(made.database, autocommit=True) as conn:

        def is_settled() -> bool:
            row = conn.execute(
                "SELECT count(*) = 10 AND NOT EXISTS (SELECT FROM work) FROM entry"
            ).fetchone()
            return bool(row and row[0])

        until(is_settled, within_seconds=240, what="everything to be found")
        aside = conn.execute("SELECT stage, error FROM quarantine").fetchall()
    assert aside == []
    # What is written is in a search by words a second later.
    alias = mapping.read_alias(made.environment["OPENSEARCH_INDEX"])
    httpx2.post(f"{opensearch.url}/{alias}/_refresh", timeout=60).raise_for_status()
    return made


def found(system: System, query: str, module: str, source: str) -> dict[str, Any]:
    asked = {"query": query, "modules": [module], "filters": {"source": source}}

    def answered() -> Any:
        with system.client() as client:
            answer = client.post("/v1/search/query", json=asked, timeout=40)
        assert answer.status_code == 200, answer.text
        return answer.json()["state"] == "done" and answer.json()

    body = until(answered, within_seconds=30, what="an answer of every branch")
    return {NAMES[one["external_id"]]: one for one in body["results"]}


def kept(system: System, name: str, source: str) -> dict[str, Any]:
    with system.client() as client:
        asked = {"external_id": IDS[name], "source": source}
        (one,) = client.get("/v1/entries", params=asked).json()["items"]
    return dict(one)


@pytest.mark.requirement("B6")
@pytest.mark.parametrize("source", [PUSHED, PULLED])
def test_an_entry_of_ten_megabytes_is_found_and_marked_by_every_branch(system, source):
    for module in ("os_bm25", "pg_fts", "semantic"):
        one = found(system, "klystron tripped", module, source)["huge"]
        assert "klystron tripped" in one["content"]
        assert any("<b>klystron</b> <b>tripped</b>" in h for h in one["highlights"])
        assert len(one["content"]) < 10_000
    with psycopg.connect(system.database) as conn:
        stored = conn.execute(
            "SELECT r.entry_id, length(r.text) FROM revision r"
            "  JOIN entry e ON e.id = r.entry_id"
            " WHERE e.external_id = %s AND e.source = %s",
            (IDS["huge"], source),
        ).fetchone()
        model = conn.execute("SELECT table_name FROM embedding_model").fetchone()
        assert stored is not None
        assert model is not None
        chunks = conn.execute(
            f"SELECT count(*) FROM {model[0]} WHERE entry_id = %s", (stored[0],)
        ).fetchone()
    assert stored[1] == len(HUGE)
    assert chunks == (MAX_CHUNKS,)
    # All of its few words are found: only of its meaning the end was left out.
    assert kept(system, "huge", source)["flags"] == ["vectors_cut"]


@pytest.mark.requirement("B7")
@pytest.mark.parametrize("source", [PUSHED, PULLED])
def test_texts_of_too_many_words_marks_or_lines_are_found_marked_and_flagged(
    system: System, source: str
):
    for module in ("os_bm25", "pg_fts"):
        hits = found(system, "quench", module, source)
        assert hits.keys() == ODD.keys()
        for one in hits.values():
            assert any("<b>quench</b>" in h for h in one["highlights"])
    said = {name: kept(system, name, source)["flags"] for name in ODD}
    flagged = {name: flags for name, flags in said.items() if flags}
    assert flagged == {"distinct-words": ["text_cut", "vectors_cut"]}
    # Both engines are cut at the same word: the first is found, the last is not.
    answers = {
        module: [
            "distinct-words" in found(system, f'"{word}"', module, source)
            for word in (WORDS[7], WORDS[30_000], WORDS[-7])
        ]
        for module in ("os_bm25", "pg_fts")
    }
    assert answers["os_bm25"] == answers["pg_fts"] == [True, True, False]
