"""F33: what some upstream logbooks do wrong costs those that work nothing."""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, LiteralString

import psutil
import psycopg
import pytest

from tests.support.certificates import make_certificate
from tests.support.faults.measures import lags
from tests.support.faults.measures.lags import Lag
from tests.support.faults.measures.ledger import Ledger
from tests.support.faults.measures.peak import peak_mib
from tests.support.faults.measures.size import SEED, N
from tests.support.faults.source_polls import SourcePolls
from tests.support.faults.upstreams import Logbook, Trouble, Upstreams, Writer
from tests.support.fixtures.system import System
from tests.support.waiting import until

GOOD = 13
# How long entries are written with all well, and again beside those that are not.
PHASE_SECONDS = 60.0
# After failures these are asked far more often than as shipped, to be more in the way.
SETTINGS = {
    "poll_interval_seconds": 2,
    "max_interval_seconds": 4,
    "max_consecutive_failures": 1000,
    "history_start": "2026-01-01T00:00:00Z",
    "reconcile_every_seconds": 86_400,
}
CAP_MIB = 64
# Upkeep looks once a second: what chance alone may cost a mean of few.
CHANCE_SECONDS = 0.5
SENTENCES: Mapping[Trouble, str] = {
    "500": "cannot answer just now (500",
    "hang": "does not answer in time",
    "half_body": "broke off its answer",
    "wrong_length": "broke off its answer",
    "redirect_loop": "redirects in a circle",
    "endless": "it was cut off",
    "garbage": "instead of JSON",
    "tls": "certificate",
}
_HISTORIES: LiteralString = """
    SELECT count(*) FROM source_schedule
     WHERE kind = 'backfill' AND isfinite(next_run_at)"""


@dataclass
class Run:
    """One system over thirteen good logbooks and some that are to go wrong."""

    experiment: str
    make_system: Callable[..., System]
    upstreams: Upstreams
    certificate: Any
    random: random.Random = field(default_factory=lambda: random.Random(SEED))

    def __post_init__(self) -> None:
        """Configure the good ones."""
        self.good = [self.upstreams.open(f"good-{n:02}") for n in range(1, GOOD + 1)]
        self.bad: list[Logbook] = []

    def start(self) -> None:
        """Start the processes, and wait until every history is in."""
        self.upstreams.configure()
        self.system = self.make_system(afresh=True, **self.upstreams.environment)
        self.polls = SourcePolls(self.system)
        self.ledger = Ledger(self.system, self.experiment, vectors=False)
        self.system.bring_up("api", "ingest", "enhance", "upkeep")
        for one in self.upstreams.logbooks.values():
            one.write("the first of all")
        self.wait_stored(self.upstreams.logbooks.values())
        until(self._has_every_history, within_seconds=60, what="every history")

    def add_bad(self, troubles: Mapping[str, Trouble]) -> None:
        """Open logbooks that are to go wrong, by name."""
        self.bad = [self.upstreams.open(name) for name in troubles]

    def spoil(self, troubles: Mapping[str, Trouble]) -> None:
        """Let them go wrong."""
        for one in self.bad:
            one.spoil(troubles[one.name], self.certificate)

    def reload(self) -> None:
        """Have the configuration read again, as an admin does."""
        self.upstreams.configure()
        with self.system.client(self.system.key(scopes=("admin",))) as client:
            answer = client.post("/v1/sources/reload")
        assert answer.json()["invalid"] == [], answer.text

    def measured(self) -> dict[str, list[float]]:
        """Write into the good ones for a while; return how late each entry was."""
        half = N // 2
        writer = Writer(self.good, self.random, half / PHASE_SECONDS)
        began, ended = writer.write(half)
        self.wait_stored(self.good)
        return lags.lags(self.system, self.good, began, ended)

    def wait_stored(self, logbooks) -> None:
        """Return once all that was written into these is stored, and nothing else."""
        written = list(logbooks)
        until(
            lambda: not lags.missing(self.system, written),
            within_seconds=90,
            what="everything that was written",
        )

    def children(self) -> dict[int, int]:
        """Return the most memory that each child of the worker has ever had."""
        worker = psutil.Process(self.system.processes["ingest"].pid)
        return {one.pid: peak_mib(one.pid) for one in worker.children(recursive=True)}

    def troubles_told(self) -> dict[str, str]:
        """Return what the API says of each bad source."""
        with self.system.client(self.system.key(scopes=("read",))) as client:
            return {
                one.name: client.get(f"/v1/sources/{one.name}").json()["degraded"]
                for one in self.bad
            }

    def _has_every_history(self) -> bool:
        with psycopg.connect(self.system.database) as conn:
            return conn.execute(_HISTORIES).fetchone() == (0,)


@pytest.fixture
def begin(make_system, tmp_path):
    """Begin an experiment over logbooks that end with the test."""
    with Upstreams(tmp_path, SETTINGS) as upstreams:
        certificate = make_certificate(tmp_path)
        yield lambda name: Run(name, make_system, upstreams, certificate)


@pytest.mark.patient
def test_five_new_sources_that_hang_leave_a_child_to_one_that_works(
    make_system, tmp_path
):
    with Upstreams(tmp_path, SETTINGS) as upstreams:
        # By name they come first.
        hanging = [upstreams.open(f"a-hangs-{number}") for number in range(5)]
        for one in hanging:
            one.spoil("hang", tmp_path)
        good = upstreams.open("works")
        upstreams.configure()
        system = make_system(**upstreams.environment)
        system.start("ingest", "upkeep")
        until(
            lambda: all(one.asked_in_vain() for one in hanging),
            within_seconds=60,
            what="five that hang",
        )

        for _ in range(3):
            good.write("while others hang")
            until(lambda: not lags.missing(system, [good]), within_seconds=10)

        # The history of none of them takes the sixth child.
        assert [len(one.asked_in_vain()) for one in hanging] == [1] * 5


@pytest.mark.slow
@pytest.mark.patient
@pytest.mark.requirement("F33", "P7", "P11")
@pytest.mark.timeout(600)
def test_new_sources_that_misbehave_in_every_way_hold_up_no_other(begin):
    troubles: dict[str, Trouble] = {f"bad-{one}": one for one in SENTENCES}
    run = begin("F33")
    run.start()
    calm = run.measured()
    before = run.children()

    run.add_bad(troubles)
    run.spoil(troubles)
    run.reload()
    stormy = run.measured()
    after = run.children()

    told = run.troubles_told()
    line = closed(run, run.good)
    least = min(before.values())
    rise = max(most - before.get(pid, least) for pid, most in after.items())
    print(f"F33 rise_mib={rise} cap_mib={CAP_MIB} peaks_mib={after}")
    show(run, calm, stormy, told)

    assert line.harm == {}
    assert_kept_up(calm, stormy)
    assert_told(run, told)
    assert_jittered(run)
    assert rise < 2 * CAP_MIB
    assert run.polls.found().at_once == 0
    assert not any(map(run.system.has_ended, run.system.processes))


@pytest.mark.slow
@pytest.mark.requirement("F33", "P7")
@pytest.mark.timeout(600)
def test_of_twenty_sources_three_hang_three_fail_one_sends_garbage(begin):
    names = ["hang"] * 3 + ["500"] * 3 + ["garbage"]
    troubles: dict[str, Trouble] = {
        f"bad-{number}-{name}": name for number, name in enumerate(names, 1)
    }
    run = begin("twenty-sources")
    run.add_bad(troubles)
    run.start()
    calm = run.measured()

    run.spoil(troubles)
    for one in run.bad:
        one.write("while nobody can read it")
    stormy = run.measured()

    told = run.troubles_told()
    show(run, calm, stormy, told)
    # Once they are mended, what was written meanwhile comes in.
    for one in run.bad:
        one.mend()
    run.wait_stored([*run.good, *run.bad])
    line = closed(run, [*run.good, *run.bad])

    assert line.harm == {}
    assert_kept_up(calm, stormy)
    assert_told(run, told)
    assert run.polls.found().at_once == 0
    assert not any(map(run.system.has_ended, run.system.processes))


def closed(run: Run, logbooks: list[Logbook]):
    """Return the ledger's line over what was written into these."""
    lags.keep(run.ledger, logbooks)
    return run.ledger.close(within_seconds=60)


def show(run: Run, calm, stormy, told: Mapping[str, str]) -> None:
    """Print what each source was like, and keep it."""
    troubled = [
        f"{one.name:20} requests={len(one.asked_in_vain()):3}"
        f" apart_s={_apart(one):5.1f} +-{_spread(one):4.0%}  {told[one.name]}"
        for one in run.bad
    ]
    lags.show(run.experiment, [*lags.table(calm, stormy), "", *troubled])


def assert_kept_up(calm, stormy) -> None:
    """Nobody waits longer than a tenth more, but for what chance may cost."""
    before, beside = Lag.of(lags.together(calm)), Lag.of(lags.together(stormy))
    assert beside.mean <= max(1.1 * before.mean, before.mean + CHANCE_SECONDS)
    assert beside.p95 <= max(1.1 * before.p95, before.p95 + 2 * CHANCE_SECONDS)


def assert_told(run: Run, told: Mapping[str, str]) -> None:
    """Each source says in a plain sentence what is wrong and what to do."""
    for one in run.bad:
        sentence = told[one.name]
        assert one.trouble is not None
        assert SENTENCES[one.trouble] in sentence
        assert f"logchord source check {one.name}" in sentence
        assert sentence.endswith(".")
        assert "Traceback" not in sentence


def assert_jittered(run: Run) -> None:
    """No two wait for the same time, and each for about as long as it should."""
    names = [one.name for one in run.bad]
    waits = run.polls.waits(names, failures=2)
    longest = SETTINGS["max_interval_seconds"]
    assert isinstance(longest, int)
    assert len(waits) >= len(names)
    assert all(0.89 * longest <= wait <= 1.11 * longest for wait in waits)
    assert statistics.stdev(waits) > 0.03 * longest
    asked_again = [_spread(one) for one in run.bad if len(one.asked_in_vain()) > 3]
    assert asked_again
    assert min(asked_again) > 0.03


def _apart(one: Logbook) -> float:
    gaps = _gaps(one)
    return statistics.fmean(gaps) if gaps else 0.0


def _spread(one: Logbook) -> float:
    """Return how much the times between its requests differ, as a share of them."""
    gaps = _gaps(one)
    return statistics.stdev(gaps) / statistics.fmean(gaps) if len(gaps) > 1 else 0.0


def _gaps(one: Logbook) -> list[float]:
    return [later - earlier for earlier, later in pairwise(one.asked_in_vain())]
