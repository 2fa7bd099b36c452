"""A package outside this repository brings an adapter and runs the kit on it."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.contract import outside
from tests.support.commands import run_command
from tests.support.waiting import until
from workers.adapters.kit.matrix import ROWS
from workers.adapters.kit.stub import StubEntry

PACKAGE = outside.EXAMPLES / "adapter"


def run(
    argv: list[str], folder: Path, **environment: str
) -> subprocess.CompletedProcess[str]:
    return run_command(
        [sys.executable, "-P", "-m", *argv],
        cwd=folder,
        env={**os.environ, **environment},
        timeout=280,
    )


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """The package's sources in a folder of its own, as its facility has them."""
    return outside.copied(PACKAGE, tmp_path_factory.mktemp("acme"))


@pytest.fixture(scope="module")
def installed(package):
    """Where the built package is installed, beside what this run can import."""
    target = outside.built(package, package.parent)
    # What is imported is what was installed.
    shutil.rmtree(package / "logchord_acme")
    return target


@pytest.mark.timeout(300)
def test_an_adapter_of_another_package_is_found_and_keeps_every_row(
    package, installed, postgres
):
    done = run(
        ["pytest", "-rs", "-p", "no:randomly", "-p", "no:cacheprovider", "-v"],
        package,
        PYTHONPATH=str(installed),
        LOGCHORD_TEST_DATABASE_URL=postgres.url,
        PYTHONWARNINGS="ignore",
    )
    assert done.returncode == 0, done.stdout[-6_000:]
    passed = set(re.findall(r"::test_it_conforms\[(ADP\d+)-\S+\] PASSED", done.stdout))
    absent = set(
        re.findall(r"test_it_lacks_only\w+\[(ADP\d+)-acme\] SKIPPED", done.stdout)
    )
    assert passed | absent == set(ROWS)
    assert absent == {"ADP8", "ADP10", "ADP12", "ADP22", "ADP26", "ADP30"}
    assert "n/a: it has no attachments" in done.stdout


def test_the_kit_takes_the_postgres_of_a_stack_and_says_when_none_runs(
    package, installed, postgres, tmp_path
):
    home = tmp_path / "home"
    (home / "run").mkdir(parents=True)

    def examine() -> subprocess.CompletedProcess[str]:
        return run(
            ["pytest", "-p", "no:randomly", "-p", "no:cacheprovider", "-k", "ADP3-"],
            package,
            PYTHONPATH=str(installed),
            LOGCHORD_TEST_DATABASE_URL="stack",
            LOGCHORD_HOME=str(home),
            DATABASE_URL="",
            PYTHONWARNINGS="ignore",
        )

    none = examine()
    assert none.returncode == 1
    assert "no stack runs in LOGCHORD_HOME" in none.stdout
    stack = json.dumps({"database_url": postgres.url})
    (home / "run" / "stack.json").write_text(stack, encoding="utf-8")
    done = examine()
    assert done.returncode == 0, done.stdout[-6_000:]


@pytest.fixture
def logbook(package):
    """Acme's logbook with one entry, by the stub of the package itself."""
    spec = importlib.util.spec_from_file_location("stub", package / "tests" / "stub.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with closing(module.AcmeStub()) as stub:
        stub.add(StubEntry(7, datetime.now(UTC), "RF trip", "Cavity 2"))
        yield stub


def test_a_source_of_another_package_is_added_by_the_command_of_ours(
    logbook, installed, tmp_path
):
    def add(*words: str) -> subprocess.CompletedProcess[str]:
        return run(
            ["api.cli.main", "source", "add", logbook.settings()["base_url"], *words],
            tmp_path,
            PYTHONPATH=str(installed),
            LOGCHORD_HOME=str(tmp_path / "home"),
            LOGCHORD_URL="http://127.0.0.1:9",
            LOGCHORD_API_KEY="none",
        )

    added = add("--name", "ring", "--adapter", "acme")
    assert added.returncode == 0, added.stderr
    assert "This is Logbook of Acme Light Source" in added.stderr
    assert "RF trip" in added.stderr
    written = yaml.safe_load((tmp_path / "logchord.yaml").read_text("utf-8"))
    assert written["sources"]["ring"]["adapter"] == "acme"
    near = add("--name", "other", "--adapter", "acne")
    assert near.returncode != 0
    assert "acme" in near.stderr


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_a_running_stack_takes_its_entries_in_and_shows_where_they_are_from(
    logbook, installed, make_system
):
    source = {
        **logbook.settings(),
        "adapter": "acme",
        "poll_interval_seconds": 0.5,
        "rate_per_second": 100,
    }
    system = make_system(
        LOGCHORD_SOURCES=json.dumps({"ring": source}), PYTHONPATH=str(installed)
    )
    system.bring_up("api", "search", "ingest", "enhance", "upkeep")
    with system.client(system.key(scopes=("admin", "read", "search"))) as client:

        def found() -> list[dict[str, Any]]:
            asked = {"query": "cavity", "mode": "keyword"}
            answer = client.post("/v1/search/query", json=asked).raise_for_status()
            return answer.json()["results"]

        until(found, within_seconds=60, what="an entry of the ring, by its words")
        assert [one["external_id"] for one in found()] == ["A7"]
        (listed,) = client.get("/v1/sources").json()["items"]
        assert (listed["name"], listed["adapter"]) == ("ring", "acme")
        page = client.get("/sources", headers={"accept": "text/html"}).text
        assert re.search(r'>ring</a><br><span class="quiet">acme</span>', page)
    told = run(["api.cli.main", "doctor"], system.logs, **system.environment)
    assert "1 are configured" in told.stdout, told.stdout
