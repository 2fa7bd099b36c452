"""Everything is found and answered on a machine that reaches no other one."""

import sys
from pathlib import Path

import httpx2
import pytest

from local.server import Server
from tests.support.commands import run_command
from tests.support.fixtures.system import CORE, Factory, System
from tests.support.waiting import until
from tests.support.written import ok

# Python runs it before anything else of a process, and no code can take it away.
GUARD = """
import ipaddress, os, pathlib, sys

FOLDER = pathlib.Path(os.environ["GUARDED"])
(FOLDER / f"held-{os.getpid()}").touch()
ASKING = {"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"}
SENDING = {"socket.connect", "socket.sendto", "socket.sendmsg"}


def is_here(host):
    name = host.decode() if isinstance(host, bytes) else host
    if name in {None, "", "localhost"}:
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def refuse(event, args):
    if event in SENDING:
        # Of a Unix socket the address is a path; None: it is connected already.
        host = args[1][0] if isinstance(args[1], tuple) else None
    elif event in ASKING:
        host = args[0]
    else:
        return
    if not is_here(host):
        with (FOLDER / "refused").open("a") as told:
            told.write(f"{event} {host} of {sys.argv}\\n")
        raise PermissionError(f"{host} is not this machine")


sys.addaudithook(refuse)
"""
ENTRIES = (
    "RF cavity 3 tripped during injection",
    "The corrector HCM-03 was replaced",
    "Cooling water of the klystron is low",
)


@pytest.fixture
def guarded(tmp_path: Path) -> Path:
    """A folder whose code is run first, and notes who asked for another machine."""
    (tmp_path / "sitecustomize.py").write_text(GUARD)
    return tmp_path


@pytest.fixture
def alone(make_system: Factory, opensearch: Server, guarded: Path) -> System:
    """A system as it ships, none of whose processes gets beyond this machine."""
    system = make_system(
        opensearch=opensearch.url, PYTHONPATH=str(guarded), GUARDED=str(guarded)
    )
    system.start(*CORE, "chores")
    system.wait_ready("search", "enhance", "embed", "upkeep")
    return system


def refused(guarded: Path) -> str:
    path = guarded / "refused"
    return path.read_text() if path.exists() else ""


def searched(client: httpx2.Client, mode: str) -> dict[str, object]:
    asked = {"query": "was the klystron too warm", "mode": mode}
    return ok(client.post("/v1/search/query", json=asked))


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.requirement("S4-03", "S1-107")
def test_nothing_that_is_taken_in_found_or_answered_needs_another_machine(
    alone: System, guarded: Path
) -> None:
    held = {int(one.name.removeprefix("held-")) for one in guarded.glob("held-*")}
    assert {one.pid for one in alone.processes.values()} <= held
    with alone.client() as client:
        entries = [
            {"source": "api", "external_id": f"E-{number}", "text": text}
            for number, text in enumerate(ENTRIES)
        ]
        client.post("/v1/entries", json={"entries": entries}).raise_for_status()

        def is_found() -> bool:
            results = searched(client, "hybrid")["results"]
            assert isinstance(results, list)
            return bool(results) and results[0]["found_by"] == ["os_bm25", "semantic"]

        until(is_found, within_seconds=90, what="the entries by words and by meaning")
        for mode in ("keyword", "semantic", "hybrid", "auto"):
            body = searched(client, mode)
            assert (body["state"], body["degraded"]) == ("done", False), mode
        # By the encoder that ships, and in sentences of the entries themselves.
        assert str(searched(client, "semantic")["vector_model"]).startswith("bge-small")
        asked = {"query": "cooling of the klystron", "filters": {}}
        answers = [client.post("/search", json=asked).json() for _ in range(2)]
        assert "Cooling water of the klystron is low [1]" in answers[0]["synthesis"]
        assert answers[0]["synthesis"] == answers[1]["synthesis"]
        assert answers[0]["citations"]
    assert refused(guarded) == ""

    # Whoever would ask for another machine is refused, and it is told.
    outward = "import socket; socket.create_connection(('192.0.2.1', 9), timeout=5)"
    done = run_command([sys.executable, "-c", outward], env=alone.environment)
    assert "192.0.2.1 is not this machine" in done.stderr
    assert "192.0.2.1" in refused(guarded)
