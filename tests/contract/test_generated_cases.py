"""Schemathesis over the API's own description: every route, three identities."""

import json
import os
import re
import subprocess
from collections import Counter
from pathlib import Path

import httpx2
import pytest

from tests.support.commands import run_command
from tests.support.faults.measures.size import FULL, times
from tests.support.fixtures.system import BIN, System

SEED = 20260302
# A default run has so many of each route and identity; a release has 200.
FEW = times(4, 12)
CASES = int(os.environ.get("LOGCHORD_TEST_CASES") or FEW)
# Each value at its bounds: 9,300 requests and 100 s more, whatever the number of cases.
WITH_BOUNDS = FULL or CASES > FEW
SECONDS = 390 + 30 * CASES
CONFIG = Path(__file__).with_name("schemathesis.toml")
HOOKS = Path(__file__).with_name("schemathesis_hooks.py")
# Each kind of failure that is found, by its number; one is a limit of time.
FOUND, TOO_SLOW = re.compile(r"^ *- (ST\d+) ", re.MULTILINE), "ST112"
PHASES = {
    "admin": f"examples,{'coverage,' if WITH_BOUNDS else ''}fuzzing,stateful",
    "nobody": "examples,fuzzing",
    "elsewhere": "examples,fuzzing",
}


@pytest.fixture
def token(running: System, tenant: str, request) -> str:
    if request.param == "nobody":
        return ""
    if request.param == "admin":
        return running.key(tenant=tenant, scopes=("admin",))
    return running.key(tenant=f"{tenant}-elsewhere")


@pytest.mark.requirement("B20", "P9")
@pytest.mark.usefixtures("answering")
# The first of a lane may wait for its servers to start.
@pytest.mark.timeout(SECONDS + 200)
@pytest.mark.parametrize(
    ("token", "phases"),
    [pytest.param(who, phases, id=who) for who, phases in PHASES.items()],
    indirect=["token"],
)
def test_no_generated_case_breaks_what_the_description_says(
    running: System, token: str, phases: str, tmp_path: Path
):
    report = tmp_path / "cases.ndjson"
    ended = run_cases(running, token, phases, report)
    if set(FOUND.findall(ended.stdout)) == {TOO_SLOW}:
        # A machine that stood still is slow once, a route is so again.
        report = tmp_path / "again.ndjson"
        ended = run_cases(running, token, phases, report)

    assert ended.returncode == 0, ended.stdout[-60000:] + ended.stderr[-2000:]
    counted = cases_by_route(report)
    described = routes_of(running)
    assert set(counted) >= described
    with running.client(token) as client:
        for route in described:
            repeat(client, route, CASES - counted[route])


def run_cases(
    running: System, token: str, phases: str, report: Path
) -> subprocess.CompletedProcess[str]:
    given = ["--header", f"Authorization: Bearer {token}"] if token else []
    return run_command(
        [
            str(BIN / "st"),
            *("--config-file", str(CONFIG), "run", f"{running.url}/openapi.json"),
            *given,
            # All checks are on; named here, they would be where the file says no.
            *("--phases", phases, "--seed", str(SEED)),
            *("--max-examples", str(CASES)),
            *("--report", "ndjson", "--report-ndjson-path", str(report)),
            *("--no-color", "--warnings", "off", "--request-timeout", "10"),
        ],
        cwd=report.parent,
        env={**os.environ, "SCHEMATHESIS_HOOKS": str(HOOKS)},
        timeout=SECONDS,
    )


def cases_by_route(report: Path) -> Counter[str]:
    counted: Counter[str] = Counter()
    for line in report.read_text(encoding="utf-8").splitlines():
        event = json.loads(line).get("ScenarioFinished")
        if event is not None:
            recorder = event["recorder"]
            counted[recorder["label"]] += len(recorder.get("cases", {}))
    return counted


def routes_of(running: System) -> set[str]:
    document = httpx2.get(f"{running.url}/openapi.json").json()
    return {
        f"{method.upper()} {path}"
        for path, methods in document["paths"].items()
        for method in methods
    }


def repeat(client: httpx2.Client, route: str, times: int) -> None:
    """Ask what takes no input again: there are not so many different cases of it."""
    method, path = route.split(" ")
    for number in range(times):
        answer = client.request(
            method,
            re.sub(r"\{\w+\}", "x", path),
            headers={"X-Odd": "x" * number, "Accept": "*/*"},
        )
        assert answer.status_code < 500, (route, answer.text)
