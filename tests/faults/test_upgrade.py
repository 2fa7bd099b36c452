"""F31: the previous release's processes beside this one's, in either order."""

import base64
import json
import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, LiteralString

import httpx2
import psutil
import psycopg
import pytest

from shared.version import VERSION
from tests.support.faults import previous
from tests.support.faults.injected.bad_messages import Writer, body
from tests.support.faults.measures.ledger import Ledger, Posting
from tests.support.faults.measures.queues import Queues
from tests.support.faults.measures.size import QUICK_VECTORS
from tests.support.faults.previous import Release
from tests.support.fixtures.servers import create_database, drop_database, of_database
from tests.support.fixtures.system import System
from tests.support.refused import count_refused
from tests.support.statements import fetch_rows, fetch_value
from tests.support.waiting import until

WORKERS = ("search", "enhance", "embed", "chores", "upkeep")
# As many as the experiment is specified with, however large the others are.
EACH = 200
# Taken in by the previous release alone, the second half while the schema changes.
BEFORE, FIRST = 50, 100
EDITED, DELETED = 10, 5
DEADLINE_SECONDS, LATE_SECONDS = 6.0, 5.0
DRAINED_SECONDS = 90.0

UNKNOWN_TASK, UNKNOWN_ARGUMENT = "of_another_release", {"since_release": 9}

# The release before writes the messages that it refuses down; this one counts them.
REFUSED: LiteralString = """
    SELECT split_part(stage, ':', 2), sum(times)::int FROM quarantine
     WHERE entry_id IS NULL GROUP BY stage"""
PUT_ASIDE: LiteralString = """
    SELECT count(*) FROM quarantine WHERE entry_id IS NOT NULL"""
VERSIONS: LiteralString = "SELECT DISTINCT kind, version FROM worker_process"
APPLIED: LiteralString = "SELECT name FROM schema_migration"
# What this release has no stage for stays due for the one before, until `--post`.
GIVEN_UP: LiteralString = "SELECT count(*) FROM work WHERE stage = 'links'"

pytestmark = [pytest.mark.slow, pytest.mark.patient, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def release(tmp_path_factory) -> Release:
    name = previous.find()
    if name is None:
        pytest.skip("the history here does not reach back to the previous release")
    return previous.unpack(name, tmp_path_factory.mktemp("previous"))


@pytest.fixture
def empty_database(postgres) -> Iterator[str]:
    """A database without a schema; the systems over it are stopped before it goes."""
    name = f"upgrade_{secrets.token_hex(6)}"
    create_database(postgres.url, name)
    yield of_database(postgres.url, name)
    drop_database(postgres.url, name)


class Upgrade:
    """One system that is brought from one release to the next, and back half way."""

    def __init__(self, system: System, release: Release) -> None:
        self.system = system
        self.release = release
        self.queues = Queues(system)
        self.refused: Counter[str] = Counter()
        self._are_old = True

    def start(self, *names: str, old: bool) -> None:
        """Start processes of either release, and see that they are of it."""
        self.system.start(*names, code=self.release.folder if old else None)
        if "search" in names:
            self._are_old = old
        kinds = [name for name in names if name != "api"]
        self.system.wait_ready(*kinds)
        version = self.release.version if old else VERSION
        if "api" in names:
            told = httpx2.get(f"{self.system.url}/openapi.json", timeout=30).json()
            assert told["info"]["version"] == version
        said = fetch_rows(self.system.database, VERSIONS)
        assert [one for one in said if one[0] in kinds and one[1] != version] == []

    def stop(self, *names: str) -> None:
        """Ask them to end, as whoever upgrades does."""
        for name in names:
            self.system.stop(name)

    def _count_refused(self, name: str) -> int:
        """Return how many messages of its own queue a worker has refused so far."""
        queue = Writer(name).queue
        if not self._are_old:
            return count_refused(self.system, name).get(queue, 0)
        with psycopg.connect(self.system.database) as conn:
            refused: dict[str, int] = dict(conn.execute(REFUSED).fetchall())
            return refused.get(queue, 0)

    def send_unknown(self) -> None:
        """Send work of another release: each message is counted, none unsaid."""
        before = self._count_refused("enhance")
        writer = Writer("enhance")
        unknown = [
            writer.item(task=f"enhance.{UNKNOWN_TASK}"),
            writer.item(body(writer.args, UNKNOWN_ARGUMENT)),
        ]
        self.queues.put(writer.queue, unknown)
        self._wait_refused("enhance", before, len(unknown))

    def ask(self, client: httpx2.Client) -> None:
        """Ask a search until both of its branches find something."""
        asked = {"query": "beam dump", "mode": "hybrid"}

        def is_whole() -> bool:
            told = client.post("/v1/search/query", json=asked).json()
            branches = told.get("branches", [])
            return (
                told.get("state") == "done"
                and {one["status"] for one in branches} == {"ok"}
                and bool(told["results"])
            )

        # What has just been indexed is seen after the next refresh.
        until(is_whole, within_seconds=15, what="a whole answer")

    def ask_unknown(self, client: httpx2.Client) -> float:
        """Ask searches whose messages are of another release; return the latest end.

        One holds an unknown task and one an unknown argument, each in one branch.
        """
        asked = {
            "query": "beam dump",
            "mode": "hybrid",
            "deadline_ms": int(DEADLINE_SECONDS * 1000),
        }
        before = self._count_refused("search")
        with self.system.frozen("search"):
            until(self._nobody_pops, within_seconds=5, what="no pop of a search")
            began = time.monotonic()
            jobs = [client.post("/v1/search/jobs", json=asked).json() for _ in range(2)]
            until(
                lambda: self.queues.length("search") == 4,
                within_seconds=4,
                what="every branch of both searches",
            )
            self._replace(jobs[0]["job_id"], _with_unknown_task)
            self._replace(jobs[1]["job_id"], _with_unknown_argument)
        ends = [
            client.get(one["links"]["self"], params={"wait_ms": 20_000}).json()
            for one in jobs
        ]
        late = time.monotonic() - began - DEADLINE_SECONDS
        for end in ends:
            assert end.get("state") == "partial", end
            said = sorted(one["status"] for one in end["branches"])
            assert said in (["ok", "timeout"], ["error", "ok"]), end
        assert late < LATE_SECONDS
        self._wait_refused("search", before, 2)
        return late

    def _wait_refused(self, name: str, before: int, count: int) -> None:
        until(
            lambda: self._count_refused(name) == before + count,
            within_seconds=30,
            what=f"{count} more messages that {name} has refused",
        )
        self.refused[name] += count

    def _nobody_pops(self) -> bool:
        """Tell whether no message would go to the worker of searches just now."""
        process = psutil.Process(self.system.processes["search"].pid)
        ports = {link.laddr.port for link in process.net_connections("tcp")}
        return not any(
            client["cmd"] == "brpop"
            and "b" in client["flags"]
            and int(client["addr"].rpartition(":")[2]) in ports
            for client in self.queues.redis.client_list()
        )

    def _replace(self, job_id: str, change: Callable[[Any], None]) -> None:
        """Change the message of a search's first branch, where it lies."""
        for place, raw in enumerate(self.queues.raw("search")):
            message = json.loads(raw)
            args = json.loads(base64.b64decode(message["body"]))[0]
            if args == [job_id, 0]:
                change(message)
                self.queues.redis.lset("search", place, json.dumps(message))
                return
        pytest.fail(f"no message of {job_id}")


def _with_unknown_task(message: Any) -> None:
    message["headers"]["task"] = f"search.{UNKNOWN_TASK}"


def _with_unknown_argument(message: Any) -> None:
    args, kwargs, embedded = json.loads(base64.b64decode(message["body"]))
    changed = json.dumps([args, {**kwargs, **UNKNOWN_ARGUMENT}, embedded])
    message["body"] = base64.b64encode(changed.encode()).decode()


@pytest.mark.requirement("F31", "P1", "P8")
def test_both_releases_work_side_by_side_on_the_schema_of_the_new_one(
    empty_database, opensearch, make_system, release
):
    system = make_system(
        database=empty_database, opensearch=opensearch.url, **QUICK_VECTORS
    )
    system.run("migrate", code=release.folder)
    known = applied(system)
    assert known == {path.name for path in schema_of(release.folder)}
    upgrade, ledger = Upgrade(system, release), Ledger(system, "F31")
    late = []

    def side_by_side(client: httpx2.Client, numbers: range) -> None:
        """Take in, edit and delete; ask; meet messages of another release."""
        ids = [ledger.post_until_accepted(client, number) for number in numbers]
        for number in numbers[:EDITED]:
            ledger.post_until_accepted(client, number)
        for entry_id in ids[-DELETED:]:
            assert client.delete(f"/v1/entries/{entry_id}").status_code == 204
            ledger.note_deleted(entry_id)
        drained(ledger)
        upgrade.ask(client)
        upgrade.send_unknown()
        late.append(upgrade.ask_unknown(client))

    upgrade.start("api", *WORKERS, old=True)
    key = system.key()
    with system.client(key) as client:
        ledger.post_many(client, range(BEFORE))
        # Some are still due when the schema moves on under the running release.
        with Posting(ledger, key, range(BEFORE, FIRST)):
            system.run("migrate", "--pre")
        drained(ledger)
        upgrade.ask(client)

        # As it is meant to be: workers first.
        upgrade.stop(*WORKERS)
        upgrade.start(*WORKERS, old=False)
        side_by_side(client, range(FIRST, FIRST + EACH))

        # And the wrong way round.
        upgrade.stop("api", *WORKERS)
        upgrade.start("api", old=False)
        upgrade.start(*WORKERS, old=True)
        side_by_side(client, range(FIRST + EACH, FIRST + 2 * EACH))

        upgrade.stop(*WORKERS)
        upgrade.start(*WORKERS, old=False)
        system.run("migrate", "--post")
        system.run("migrate", "--check")
        upgrade.ask(client)
    line = ledger.close(within_seconds=DRAINED_SECONDS)
    print(
        f"F31 from={release.version} migrations={len(applied(system) - known)}"
        f" refused={dict(upgrade.refused)} latest_after_deadline_s={max(late):.2f}"
    )

    assert line.accepted == FIRST + 2 * EACH
    assert line.lost == 0
    assert line.duplicate_effects == 0
    assert line.drift == 0
    assert upgrade.refused == {"enhance": 4, "search": 4}
    assert entries_put_aside(system) == 0
    upgrade.queues.close()


def drained(ledger: Ledger) -> None:
    """Return once every entry has ended, as far as both releases know its stages."""

    def is_drained() -> bool:
        given_up = fetch_value(ledger.system.database, GIVEN_UP)
        return ledger.due() == given_up

    until(is_drained, within_seconds=DRAINED_SECONDS, what="due work done")


def applied(system: System) -> set[str]:
    """Return the migrations that the database has."""
    return {name for (name,) in fetch_rows(system.database, APPLIED)}


def schema_of(folder: Path) -> list[Path]:
    """Return the migrations that a release brings."""
    return sorted((folder / "migrations").glob("*.sql"))


def entries_put_aside(system: System) -> int:
    """Return how many entries did not end as they should."""
    return fetch_value(system.database, PUT_ASIDE)
