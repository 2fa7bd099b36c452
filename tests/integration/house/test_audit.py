"""The audit of the locks, against a service of known vulnerabilities of our own."""

import importlib.util
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
LOCK = ROOT / "requirements-uv.txt"


class Advisories(BaseHTTPRequestHandler):
    """Answers every question with the advisories that the test has planted."""

    planted: list[dict[str, object]]

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        body = json.dumps({"vulns": self.planted} if self.planted else {}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Keep the test's output to itself."""


@pytest.fixture
def advisories() -> Iterator[HTTPServer]:
    Advisories.planted = []
    with HTTPServer(("127.0.0.1", 0), Advisories) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def audit(advisories):
    """The audit of one small lock, asking the server of the test."""
    spec = importlib.util.spec_from_file_location("audit", ROOT / ".ci" / "audit.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    address = f"http://127.0.0.1:{advisories.server_port}/v1/query"
    return lambda: module.main(LOCK, "--osv-url", address)


def test_a_lock_without_findings_passes(audit, capsys):
    assert audit() == 0
    assert capsys.readouterr().out == "audited 1 of 1\n"


def test_a_finding_fails_and_is_named(audit, capsys):
    package = {"name": "uv", "ecosystem": "PyPI"}
    events = [{"introduced": "0"}, {"fixed": "99.1"}]
    affected = {"package": package, "ranges": [{"type": "ECOSYSTEM", "events": events}]}
    Advisories.planted = [
        {"id": "PYSEC-1", "summary": "Planted", "details": "", "affected": [affected]}
    ]
    assert audit() == 1
    said = capsys.readouterr().out
    assert "PYSEC-1 (fixed in 99.1)" in said
    assert said.endswith("audited 1 of 1\n")


def test_without_a_network_it_is_neither_passed_nor_failed(audit, advisories, capsys):
    advisories.shutdown()
    advisories.server_close()
    assert audit() == 75
    assert capsys.readouterr().out.startswith("audited 0 of 1: not possible here")
