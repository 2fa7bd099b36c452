"""F24: OpenSearch takes a part of a bulk, and says so inside an answer of 200."""

import json
import random
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, LiteralString

import httpx2
import pytest

from local.opensearch import QUICK_START, EmbeddedOpenSearch
from local.server import free_port
from shared.opensearch import mapping
from tests.support.faults.injected.refusing import refusing
from tests.support.faults.measures.ledger import Ledger, words
from tests.support.faults.measures.size import (
    EVERY_STAGE,
    QUICK_VECTORS,
    SEED,
    N,
    times,
)
from tests.support.faults.posters import Posters
from tests.support.fixtures.own_servers import own_home, start_again
from tests.support.fixtures.system import System
from tests.support.statements import fetch_rows, fetch_value

TOO_BUSY = (429, "rejected_execution_exception")
UNREADABLE = (400, "mapper_parsing_exception")
BUSY_SHARE, UNREADABLE_SHARE = 0.3, 0.01
# Of F24a: so many of each kind among the N, and fewer in all than pause the stage.
ODD = times(3, 6)
LONG = (8000, 8000)
WRITERS, DOCUMENTS, BUSY_SECONDS = 12, 200, 10.0

_ASIDE: LiteralString = """
    SELECT entry_id::text, stage, error ->> 'code', error #>> '{details,technical}'
      FROM quarantine"""
_PAUSED: LiteralString = """
    SELECT count(*) FROM stage_pause WHERE code = 'quarantine_budget_spent'"""
_WAITED: LiteralString = """
    SELECT count(*) FROM work
     WHERE stage = 'index' AND last_error ->> 'code' = 'opensearch_unavailable'"""

pytestmark = [pytest.mark.slow, pytest.mark.patient, pytest.mark.timeout(400)]


@pytest.mark.requirement("F24", "P6", "P7")
def test_what_the_index_cannot_hold_is_put_aside_alone_and_all_else_is_found(
    make_system, opensearch
):
    """Our own documents never are: the index is made here with a mapping of its own."""
    system = make_system(opensearch=opensearch.url, **QUICK_VECTORS, **EVERY_STAGE)
    body = mapping.make_index_body()
    fields = body["mappings"]["properties"]
    # A field that nobody knows, a date that is none, and a value that is too long.
    del fields["quantities"]["properties"]["name"]
    fields["shift"] = {"type": "date", "format": "strict_date"}
    fields["stream"] = {"type": "keyword"}
    make_index(system, body)
    start(system)
    ledger = Ledger(system, "F24a")
    expected: dict[str, str] = {}

    with system.client() as client:
        ledger.post_many(client, range(N // 2))
        for number in range(ODD):
            first = N + 3 * number
            current = {"text": f"{words(ledger.random)}, stored 12.5 mA"}
            for more, kind in (
                (current, "strict_dynamic_mapping_exception"),
                ({"shift": "Owl"}, "mapper_parsing_exception"),
                ({"text": words(ledger.random, *LONG)}, "illegal_argument_exception"),
            ):
                draft = ledger.entry(first) | more
                answer = client.post("/v1/entries", json=draft).raise_for_status()
                expected[ledger.keep(answer.json())] = kind
                first += 1
        ledger.post_many(client, range(N // 2, N))
    line = ledger.converge()

    aside = put_aside(system)
    print(f"F24a aside={Counter(aside.values())}")
    assert aside.keys() == expected.keys()
    for entry_id, kind in expected.items():
        assert kind in aside[entry_id]
    assert (line.lost, line.duplicate_effects, line.drift) == (0, 0, 0)


@pytest.mark.requirement("F24", "P6", "P7")
def test_items_that_are_refused_for_now_are_tried_again_and_those_for_good_put_aside(
    make_system, opensearch
):
    chance, turn = random.Random(SEED), threading.Lock()
    with refusing(opensearch.url) as server:
        system = make_system(opensearch=server.url, **QUICK_VECTORS, **EVERY_STAGE)
        start(system)
        ledger = Ledger(system, "F24b")

        def refuse(entry_id: str) -> tuple[int, str] | None:
            # By its id: what cannot be read now cannot be read the next time either.
            if random.Random(f"{SEED}{entry_id}").random() < UNREADABLE_SHARE:
                return UNREADABLE
            with turn:
                return TOO_BUSY if chance.random() < BUSY_SHARE else None

        server.refuse = refuse
        posters = Posters(ledger, most=N)
        with posters.at_work():
            posters.wait()
        server_times = server.times
        line = ledger.converge()
        unreadable = server.who.get(400, set())

    aside = put_aside(system)
    print(f"F24b refused={server_times} aside={len(aside)}")
    assert aside.keys() == unreadable
    assert server_times[429] >= BUSY_SHARE * N / 2, "hardly anything was refused"
    assert fetch_value(system.database, _PAUSED) == 0
    assert posters.refused == []
    assert line.accepted == N
    assert (line.lost, line.duplicate_effects, line.drift) == (0, 0, 0)


@pytest.mark.requirement("F24", "P6")
def test_a_server_whose_queue_is_full_is_given_time_and_holds_everything_in_the_end(
    make_system, place, reap
):
    settings = {"thread_pool.write.size": "1", "thread_pool.write.queue_size": "1"}
    with own_home(place, reap) as own:
        server = EmbeddedOpenSearch(
            own, free_port(), settings=settings, java_options=QUICK_START
        )
        start_again(server, reap)
        try:
            system = make_system(opensearch=server.url, **QUICK_VECTORS, **EVERY_STAGE)
            start(system)
            ledger = Ledger(system, "F24c")
            waited = 0
            with busy(server.url) as rejected, system.client() as client:
                ends = times(2, 5)
                for share in range(ends):
                    first, last = share * N // ends, (share + 1) * N // ends
                    ledger.post_many(client, range(first, last))
                    threading.Event().wait(BUSY_SECONDS / ends)
                    waited = max(waited, fetch_value(system.database, _WAITED))
            ledger.note_end("index")
            line = ledger.converge()
        finally:
            system.kill_all()
            server.stop()

    print(f"F24c rejected_of_others={rejected['429']} waited_most={waited}")
    assert rejected["429"] > 0, "the server was never busy: nothing was tried"
    assert line.harm == {}


def start(system: System) -> None:
    """Start whoever takes entries in and writes them to the index."""
    system.bring_up("api", "enhance", "embed", "upkeep")


def make_index(system: System, body: dict[str, Any]) -> None:
    """Make the index before anybody else does, with what it is to hold."""
    base = system.environment["OPENSEARCH_INDEX"]
    body["aliases"] = {
        mapping.read_alias(base): {},
        mapping.write_alias(base): {"is_write_index": True},
    }
    url = system.environment["OPENSEARCH_URL"]
    name = f"{base}-v{mapping.MAPPING_VERSION}-1-a"
    httpx2.put(f"{url}/{name}", json=body, timeout=30).raise_for_status()


def put_aside(system: System) -> dict[str, str]:
    """Return what was quarantined, with what OpenSearch said of it."""
    rows = fetch_rows(system.database, _ASIDE)
    assert {(stage, code) for _, stage, code, _ in rows} <= {
        ("index", "opensearch_refused")
    }
    return {entry_id: technical for entry_id, _, _, technical in rows}


@contextmanager
def busy(url: str) -> Iterator[Counter[str]]:
    """Keep the server writing, from many sides; yield how often it had no room."""
    found: Counter[str] = Counter()
    over, turn = threading.Event(), threading.Lock()
    action = json.dumps({"index": {"_index": "others"}})
    lines = f"{action}\n{json.dumps({'text': 'noise ' * 200})}\n" * DOCUMENTS
    settings = {"settings": {"number_of_shards": 4, "number_of_replicas": 0}}
    httpx2.put(f"{url}/others", json=settings, timeout=30).raise_for_status()

    def write() -> None:
        headers = {"Content-Type": "application/x-ndjson"}
        with httpx2.Client(base_url=url, timeout=60, headers=headers) as client:
            while not over.is_set():
                told = client.post("/_bulk", content=lines.encode()).json()
                refused = [one["index"]["status"] for one in told.get("items", ())]
                with turn:
                    found.update(map(str, refused))

    with ThreadPoolExecutor(WRITERS) as pool:
        writers = [pool.submit(write) for _ in range(WRITERS)]
        try:
            yield found
        finally:
            over.set()
        for one in writers:
            one.result()
