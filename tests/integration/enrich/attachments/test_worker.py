"""Files are fetched by a real worker, which may be killed in the middle of one."""

import hashlib
import json
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest

from shared.adapter_contract.entry import AttachmentRef
from shared.entries.saving.attachment_rows import load_attachments
from tests.contract import elogs
from tests.contract.plain_io import PlainIO
from tests.contract.stubs.elog_files import ElogFolderStub
from tests.contract.stubs.elog_http import ElogServerStub
from tests.contract.stubs.serving import StubAnswer, StubRequest, StubServer
from tests.support import attached
from tests.support.faults.measures.peak import peak_mib
from tests.support.faults.measures.size import SHORT_LEASE
from tests.support.fixtures.system import System
from tests.support.saving import save_entry
from tests.support.waiting import until
from workers.adapters.kit.stub import StubFile

DOCX = attached.docx()
# P11 promises less than this of every worker.
PROMISED_MB = 512


class Held(StubServer):
    """Gives one file, and holds the first answer back until it is released."""

    def __init__(self) -> None:
        super().__init__(self._file)
        self.asked, self.release = threading.Event(), threading.Event()

    def _file(self, request: StubRequest) -> StubAnswer:
        assert request.path.endswith(".docx")
        self.asked.set()
        self.release.wait(30)
        return StubAnswer(DOCX, media_type="application/octet-stream")


@pytest.fixture
def server():
    server = Held()
    yield server
    server.release.set()
    server.close()


def system_of(make_system, source: Mapping[str, Any], **more: Any) -> System:
    lab = {**source, "rate_per_second": 100}
    # All of a file comes within this.
    lab |= {"max_attachment_bytes": 400_000_000, "request_timeout_seconds": 40}
    # Nothing polls it: only its files are asked for.
    lab |= {"require_initial_ingest": False, "poll_interval_seconds": 86_400}
    sources = json.dumps({"api": {}, "lab": lab})
    return make_system(LOGCHORD_SOURCES=sources, **SHORT_LEASE, **more)


def save(system: System, *refs: AttachmentRef):
    given: dict[str, Any] = {"entry_time": datetime.now(UTC), "attachments": refs}
    with psycopg.connect(system.database) as conn:
        return save_entry(conn, secrets.token_hex(4), "x", source="lab", **given)


def states(system: System, entry_id) -> list[str]:
    with psycopg.connect(system.database) as conn:
        found = load_attachments(conn, "default", [entry_id])[entry_id]
    return [one.state for one in found]


def searched(system: System) -> tuple[list[bool], set[str]]:
    """Whether each entry is found by its files, and what is still due but the index."""
    with psycopg.connect(system.database) as conn:
        found = conn.execute(
            "SELECT 'i:ipm4a7' = ANY (tsvector_to_array(tsv))"
            " OR 'ipm4a7' = ANY (tsvector_to_array(tsv))"
            " FROM entry_text"
        ).fetchall()
        due = conn.execute("SELECT DISTINCT stage FROM work").fetchall()
    return [row[0] for row in found], {row[0] for row in due} | {"index"}


def files(system: System) -> list[Path]:
    folder = Path(system.environment["LOGCHORD_HOME"]) / "attachments"
    return [one for one in folder.rglob("*") if one.is_file()]


def test_a_killed_worker_costs_no_file_and_leaves_no_half(make_system, server):
    system = system_of(make_system, _olog(server))
    names = [f"{number}.docx" for number in range(3)]
    refs = [AttachmentRef(name, name, f"{server.base_url}/{name}") for name in names]
    entry_id = save(system, *refs)
    system.start("enhance", "upkeep")
    assert server.asked.wait(60), system.tail("enhance")

    system.kill("enhance")
    assert states(system, entry_id) == ["due"] * 3
    assert files(system) == []
    server.release.set()
    system.start("enhance")

    until(
        lambda: states(system, entry_id) == ["stored"] * 3,
        within_seconds=90,
        what=lambda: f"three files\n{system.tail('enhance', 60)}",
    )
    (kept,) = files(system)
    assert kept.read_bytes() == DOCX
    with psycopg.connect(system.database) as conn:
        texts = conn.execute("SELECT text FROM attachment").fetchall()
    assert all("IPM4A07" in text for (text,) in texts)
    # What was read in them is searched, and nothing is left to do but to index it.
    until(
        lambda: searched(system) == ([True], {"index"}),
        within_seconds=60,
        what=lambda: f"the texts of the files\n{system.tail('enhance', 60)}",
    )


def _olog(server: StubServer) -> dict[str, Any]:
    return {"adapter": "olog", "base_url": server.base_url}


Holding = tuple[Mapping[str, Any], AttachmentRef]


@contextmanager
def _in_olog(content: bytes) -> Iterator[Holding]:
    answer = StubAnswer(content, media_type="image/x-raw")
    with closing(StubServer(lambda _: answer)) as server:
        yield _olog(server), AttachmentRef("a.raw", "a.raw", f"{server.base_url}/a.raw")


@contextmanager
def _in_elog_server(content: bytes) -> Iterator[Holding]:
    with closing(ElogServerStub()) as stub, PlainIO() as io:
        stub.add(elogs.message(1, files=(StubFile("a.raw", content),)))
        adapter = elogs.over_server(stub, io)
        yield stub.settings(), elogs.fetched(adapter, "Operations/1").attachments[0]


@contextmanager
def _in_elog_folder(content: bytes) -> Iterator[Holding]:
    with closing(ElogFolderStub()) as stub, PlainIO(path=stub.folder) as io:
        stub.add(elogs.message(1, files=(StubFile("a.raw", content),)))
        adapter = elogs.over_files(stub, io)
        yield stub.settings(), elogs.fetched(adapter, "Operations/1").attachments[0]


_SOURCES: Mapping[str, Callable[[bytes], AbstractContextManager[Holding]]] = {
    "olog": _in_olog,
    "elog_http": _in_elog_server,
    "elog_files": _in_elog_folder,
}


@pytest.mark.slow
@pytest.mark.timeout(180)
@pytest.mark.parametrize(
    ("adapter", "bound", "becomes"),
    [
        ("olog", None, "linked"),
        ("olog", "400000000", "stored"),
        ("elog_http", "400000000", "stored"),
        ("elog_files", "400000000", "stored"),
    ],
)
def test_a_file_of_300_mb_needs_no_more_memory_than_a_worker_has(
    make_system, adapter: str, bound: str | None, becomes: str
):
    content = secrets.token_bytes(1000) * 300_000
    more = {} if bound is None else {"LOGCHORD_MAX_ATTACHMENT_BYTES": bound}
    with _SOURCES[adapter](content) as (source, ref):
        system = system_of(make_system, source, afresh=True, **more)
        entry_id = save(system, ref)
        system.start("enhance", "upkeep")
        try:
            until(lambda: states(system, entry_id) == [becomes], within_seconds=120)
        except AssertionError as exc:
            raise AssertionError(system.tail("enhance", 60)) from exc
        worker = psutil.Process(system.processes["enhance"].pid)
        most = max(peak_mib(one.pid) for one in (worker, *worker.children()))
    assert most < PROMISED_MB
    kept = files(system)
    if bound is None:
        assert kept == []
    else:
        assert [hashlib.sha256(one.read_bytes()).digest() for one in kept] == [
            hashlib.sha256(content).digest()
        ]
