"""A large logbook searched from a terminal: what an answer says of itself.

`make shown-search` runs it (docs/how-to/show-what-an-answer-says.md) beside a backfill,
with a second tenant, German entries, and OpenSearch away, slow and back.
"""

import json
import os
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from bench import search_corpus, search_load
from shared.embedding.load_model import load_encoder
from shared.opensearch.client import make_client
from shared.postgres.pool import make_pool
from shared.settings.settings import Settings
from tests.support.fixtures.fault_proxy import Proxy
from tests.support.fixtures.system import BIN, SOURCES, Factory, System
from tests.support.statements import fetch_value
from tests.support.waiting import until

ENTRIES = int(os.environ.get("SHOWN_ENTRIES") or "100000")
# More than is done while it is shown.
BACKFILL = int(os.environ.get("SHOWN_BACKFILL") or "20000")
WORKERS = ("enhance", "embed", "search", "chores")
# What the ten entries of the clear order are about, and nobody else.
APART = "zirconium"
SAME = 10
# A source of German texts, and what the second tenant has.
GERMAN, THEIRS, OTHERS = "tagebuch", "theirs-", 300
SLOW_SECONDS = 3.0
DEADLINE_MS = 4000
LATE_SECONDS = 0.5
_GERMAN = (
    "Die Kühlwasserpumpe im Tunnel wurde getauscht",
    "Störung der Vakuumpumpe, Ventil geschlossen",
    "Der Strahl ging beim Einschalten der Hochfrequenz verloren",
)
_MANY = ("interlock shutter",)
QUESTION = ("why was there not enough flow of cooling water", "--mode", "hybrid")


@dataclass
class Terminal:
    """Commands as somebody types them, shown with what they print."""

    system: System
    key: str

    def shows(self, *words: str) -> str:
        """Run a command, show what it printed, and return that."""
        told = self.prints(*words)
        print(f"\n$ logchord {shlex.join(words)}\n{told}", flush=True)
        return told

    def asked(self, *words: str) -> dict[str, Any]:
        """Return the answer to a search as JSON."""
        return json.loads(self.prints("search", *words, "--json"))

    def prints(self, *words: str) -> str:
        environment = {**self.system.environment, "LOGCHORD_API_KEY": self.key}
        return subprocess.run(
            [str(BIN / "logchord"), *words],
            env={**environment, "COLUMNS": "100"},
            cwd=self.system.logs,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            timeout=60,
            text=True,
            check=False,
        ).stdout


@dataclass(frozen=True)
class Site:
    """A filled system, its way to OpenSearch, and a terminal of each tenant."""

    system: System
    proxy: Proxy
    ours: Terminal
    theirs: Terminal


@pytest.fixture
def site(make_system: Factory, make_proxy, opensearch) -> Iterator[Site]:
    """A whole system with that many entries, a second tenant and a German source."""
    proxy = make_proxy(opensearch.url)
    sources: dict[str, dict[str, str]] = {name: {} for name in SOURCES}
    sources[GERMAN] = {"language": "de"}
    named = {"LOGCHORD_SOURCES": json.dumps(sources)}
    system = make_system(opensearch=proxy.url, afresh=True, **named)
    _fill(system, opensearch.url)
    system.start("api", "upkeep", *WORKERS)
    system.wait_ready("search", "enhance", "embed", "upkeep", "chores")
    theirs = Terminal(system, system.key(tenant="elsewhere"))
    _push(system, theirs.key, [("secret", f"{APART} of another laboratory")])
    others = [(f"{THEIRS}{n}", text) for n, text in enumerate(_of_others(), 1)]
    _push(system, theirs.key, others)
    ours = Terminal(system, system.key())
    _push(system, ours.key, list(_clear_order()))
    german = [(f"de-{n}", f"{text} ({n})") for n, text in enumerate(_GERMAN * 20)]
    _push(system, ours.key, german, source=GERMAN)
    yield Site(system, proxy, ours, theirs)
    proxy.reset()


@pytest.mark.requirement("P5", "P8")
@pytest.mark.timeout(0)
def test_what_an_answer_says_of_a_large_logbook(site: Site) -> None:
    print(f"\nSHOWN_ENTRIES={ENTRIES} SHOWN_BACKFILL={BACKFILL}", flush=True)
    ours = site.ours
    hashes = {ours.asked(*QUESTION)["stability_hash"] for _ in range(SAME)}
    print(f"the same question {SAME} times: {hashes}", flush=True)
    assert len(hashes) == 1
    _is_private(site)

    before = _apart(ours)
    assert len(before) == SAME
    _begin_backfill(site.system)
    _honest(ours)
    orders = [_apart(ours) for _ in range(SAME)]
    _without_opensearch(site)
    left = _due(site.system)
    print(f"{left} rows of work of the backfill are left", flush=True)
    assert left, "the backfill was over too soon"
    assert all(one == before for one in orders)
    assert _apart(ours) == before


def _honest(ours: Terminal) -> None:
    """Show what each answer tells of itself, while others are written."""
    ours.shows("search", *QUESTION, "--limit", "3")
    ours.shows("search", *QUESTION, "--limit", "3", "--debug")
    ours.shows("search", "Kühlwasser Pumpe getauscht", "--limit", "2")
    ours.shows("search", "--facets", "logbook,date", "--exhaustive", "interlock")
    nothing = ours.asked("giraffe at the septum", "--mode", "keyword")
    told = ours.shows("search", "giraffe at the septum", "--mode", "keyword")
    assert nothing["results"] == []
    assert nothing["coverage"]["entries_in_window"] >= ENTRIES
    assert "Nothing was found among" in told
    asked = ours.asked(f"{APART} target", "--mode", "keyword", "--limit", "3")
    why = ours.shows("why-not", asked["job_id"], "apart-9")
    assert "limit" in why or "rank" in why
    ours.shows("jobs", "replay", asked["job_id"])
    # Others are written meanwhile: it lies between what was there before and after.
    before = _counted(ours)
    lines = ours.prints("search", *_MANY, "--exhaustive", "--export", "jsonl")
    exported = len(lines.splitlines())
    after = _counted(ours)
    print(f"counted {before}, exported {exported} lines, counted {after}", flush=True)
    assert ENTRIES // 100 < before <= exported <= after + 1


def _counted(ours: Terminal) -> int:
    total = ours.asked(*_MANY, "--exhaustive")["total_candidates"]
    assert total["exact"]
    return int(total["lower_bound"])


def _is_private(site: Site) -> None:
    """Neither tenant sees anything of the other."""
    theirs = site.theirs.asked(APART, "--mode", "keyword")
    assert [one["external_id"] for one in theirs["results"]] == ["secret"]
    site.theirs.shows("search", "interlock", "--mode", "keyword", "--limit", "2")
    for words in (("interlock", "--mode", "keyword"), QUESTION):
        found = site.theirs.asked(*words, "--limit", "50")["results"]
        assert found
        assert all(one["external_id"].startswith(THEIRS) for one in found)


def _without_opensearch(site: Site) -> None:
    """Search while OpenSearch is away, slow, and back."""
    site.proxy.refuse(on=True)
    site.proxy.cut()
    away = site.ours.asked(*QUESTION)
    site.ours.shows("search", *QUESTION, "--limit", "2")
    assert away["degraded"]
    assert away["results"]
    site.proxy.refuse(on=False)
    until(
        lambda: not site.ours.asked(*QUESTION)["degraded"],
        within_seconds=30,
        what="back after it was away",
    )
    site.proxy.hold_back(SLOW_SECONDS)
    slow = site.ours.asked(*QUESTION)
    site.ours.shows("search", *QUESTION, "--limit", "2")
    assert slow["degraded"]
    assert slow["results"]
    took = slow["timings_ms"]["total"] / 1000
    print(f"with a slow OpenSearch answered after {took:.2f} s", flush=True)
    assert took < DEADLINE_MS / 1000 + LATE_SECONDS
    site.proxy.reset()
    site.proxy.cut()
    until(
        lambda: not site.ours.asked(*QUESTION)["degraded"],
        within_seconds=30,
        what="back after it was slow",
    )
    site.ours.shows("search", *QUESTION, "--limit", "1")


def _apart(ours: Terminal) -> list[str]:
    found = ours.asked(APART, "--mode", "keyword", "--limit", str(SAME))
    return [one["external_id"] for one in found["results"]]


def _clear_order() -> Iterator[tuple[str, str]]:
    """Yield ten entries, each of them longer about something else than the last."""
    for number in range(SAME):
        yield f"apart-{number}", f"{APART} target " + "moved aside again " * 8 * number


def _of_others() -> Iterator[str]:
    """Yield what another laboratory writes, much like what ours does."""
    drafts = search_corpus.drafts(OTHERS, first=OTHERS)
    yield from (draft.text for draft in drafts)


def _push(
    system: System,
    key: str,
    entries: list[tuple[str, str]],
    *,
    source: str = "operations",
) -> None:
    bodies = [
        {"source": source, "external_id": name, "text": text} for name, text in entries
    ]
    with system.client(key, timeout=120) as client:
        waiting = {"wait_for": "index"}
        answer = client.post("/v1/entries", json={"entries": bodies}, params=waiting)
        assert answer.is_success, answer.text


def _fill(system: System, opensearch: str) -> None:
    settings = Settings.load({**system.environment, "OPENSEARCH_URL": opensearch})
    client = make_client(settings)
    assert client is not None
    encoder = load_encoder(settings.embedding_model, settings.cache)
    with make_pool(system.database, application="shown", size=2) as pool:
        search_corpus.fill(settings, pool, client, encoder, ENTRIES)


def _begin_backfill(system: System) -> None:
    settings = Settings.load(system.environment)
    with make_pool(system.database, application="shown", size=1) as pool:
        search_load.make_due(pool, settings, BACKFILL, first=ENTRIES + 1)


def _due(system: System) -> int:
    return fetch_value(system.database, "SELECT count(*) FROM work")
