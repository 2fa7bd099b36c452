"""The client against a running system: its documentation, its streams, its errors."""

import asyncio
import os
import re
import sys
import zipfile
from collections.abc import Iterator

import pytest

from api.client import AsyncClient, Client, UnreachableError
from shared.errors import AccessError, ModuleNotEnabledError, NotFoundError
from tests.support.client_wheel import ROOT, build_client_wheel
from tests.support.commands import run_command
from tests.support.fixtures.system import System

PAGE = ROOT / "docs" / "how-to" / "use-the-python-client.md"
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def caller(running: System, tenant: str) -> Iterator[Client]:
    with Client(running.url, running.key(tenant=tenant)) as client:
        yield client


def push(client: Client, number: int = 1) -> None:
    entries = [
        {
            "external_id": f"P-{one}",
            "title": "RF trip",
            "text": f"RF cavity {one} tripped on arc.",
        }
        for one in range(1, number + 1)
    ]
    items = client.push(entries, wait_for="index", wait_ms=20_000)
    assert [item.status for item in items] == ["created"] * number
    assert [item.index for item in items] == list(range(number))


@pytest.mark.requirement("U35")
def test_the_examples_of_its_page_run(running, tenant, caller, tmp_path):
    # More than an answer's first page.
    push(caller, 12)
    with zipfile.ZipFile(build_client_wheel(tmp_path)) as archive:
        archive.extractall(tmp_path / "installed")
    blocks = _BLOCK.findall(PAGE.read_text("utf-8"))
    assert len(blocks) >= 6
    path = str(tmp_path / "installed")
    code = "\n".join([f"import sys; sys.path.insert(0, {path!r})", *blocks])
    done = run_command(
        [sys.executable, "-I", "-c", code],
        env={
            "LOGCHORD_URL": running.url,
            "LOGCHORD_API_KEY": running.key(tenant=tenant),
            "PATH": os.environ["PATH"],
        },
        timeout=90,
    )
    assert done.returncode == 0, done.stderr
    assert "tripped on arc" in done.stdout


def test_an_entry_goes_by_any_of_its_names(caller: Client):
    push(caller)
    entry = caller.entry("P-1")
    for ref in (str(entry.entry_id), entry.source_uri, entry.permalink, "api/P-1"):
        assert caller.entry(ref) == entry
    assert caller.entry(f"{entry.permalink}@1").revision == 1
    assert [one.revision for one in caller.revisions("P-1")] == [1]
    with pytest.raises(NotFoundError):
        caller.entry("P-2")


def test_lists_go_on_page_by_page_and_changes_replay_the_store(caller: Client):
    push(caller, 25)
    names = [one.external_id for one in caller.entries(limit=10)]
    assert len(names) == len(set(names)) == 25
    caller.delete(str(caller.entry("P-25").entry_id), reason="a test")
    kept: dict[str, str] = {}
    for change in caller.changes():
        if change.change == "deleted":
            kept.pop(change.source_uri, None)
        else:
            kept[change.source_uri] = change.entry_id
    assert len(kept) == 24
    rows = list(caller.export("tripped"))
    assert len(rows) == 24


def test_no_answer_has_a_field_that_the_models_do_not_know(caller: Client):
    push(caller)
    found = caller.search("cavity", debug=True, facets=["author"])
    entry = caller.entry("P-1")
    for one in (
        *(found, *found.results, *found.branches, entry, caller.me()),
        *(caller.capabilities(), caller.classify("rf trips last week")),
        *(caller.plan("cavity"), caller.thread("P-1"), caller.lag()),
    ):
        assert one.model_extra == {}, type(one)


def test_errors_are_the_servers_own(running: System, caller: Client):
    with pytest.raises(ModuleNotEnabledError) as caught:
        caller.search("x", mode="nonsense")
    assert caught.value.error_code == "unknown_mode"
    assert "hybrid" in caught.value.details["available"]
    with Client(running.url) as nobody, pytest.raises(AccessError) as refused:
        nobody.search("x")
    assert refused.value.error_code == "auth_required"
    with Client("http://127.0.0.1:9", timeout_seconds=1) as lost:
        with pytest.raises(UnreachableError) as away:
            lost.me()
        assert away.value.retriable


def test_a_stream_is_taken_up_where_it_broke(make_system):
    system = make_system()
    system.start("api")
    system.wait_ready()
    with Client(system.url, system.key(), timeout_seconds=20) as client:
        # Without a worker the job ends at its deadline: time enough to start anew.
        job = client.submit("cavity", mode="keyword", deadline_ms=4000)
        system.start("upkeep")
        seen = []
        for event in job.events():
            seen.append(event)
            if len(seen) == 2:
                system.stop("api")
                system.start("api")
                system.wait_ready()
    assert seen[-1].name == "done"
    assert [one.id for one in seen] == sorted({one.id for one in seen}, key=int)
    assert seen[0].name == "accepted"


def test_the_one_that_awaits_does_the_same(running: System, tenant: str):
    async def session() -> None:
        key = running.key(tenant=tenant)
        async with AsyncClient(running.url, key) as client:
            entry = {"external_id": "A-1", "text": "Kicker 3 fired late."}
            await client.push(entry, wait_for="index", wait_ms=20_000)
            found = await client.search("kicker")
            assert [hit.source_uri for hit in found.results] == [
                f"logchord:{tenant}/api/A-1"
            ]
            names = [event.name async for event in client.ask("Why was kicker 3 late?")]
            assert names[-1] == "done"
            assert "results" in names
            listed = [one async for one in client.entries()]
            assert len(listed) == 1

    asyncio.run(session())
