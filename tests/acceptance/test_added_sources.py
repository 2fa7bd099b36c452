"""Logbooks of every kind, added to a running stack by what their users type.

Everything is as shipped: `logchord up` with its bounded workers, a poll a minute. What
comes takes its time and is measured; the ledger says what is here at the end.
"""

import json
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml

from local import service_user
from tests.contract.stubs.elog_http import ElogServerStub
from tests.support.added_sources import (
    KINDS,
    Line,
    Logbook,
    held_against,
    show,
    table,
    word_of,
)
from tests.support.fixtures.servers import Reap
from tests.support.machine import Machine, machine
from tests.support.waiting import until
from tests.support.written import ok

LOADED_SECONDS = 240
FIRST_HIT_SECONDS = 10.0
POLL_SECONDS = 60.0
# Ten minutes at most, by polls alone.
DELETED_SECONDS = 600.0
# For whatever else runs here.
PATIENCE = 3


@dataclass
class Desk:
    """Somebody at a terminal, with a stack that runs and a file that names sources."""

    machine: Machine
    books: dict[str, Logbook] = field(default_factory=dict)
    seconds: dict[str, dict[str, float]] = field(default_factory=dict)
    endings: ExitStack = field(default_factory=ExitStack)

    def start(self) -> None:
        self.machine.start()
        key = (self.machine.home / "run" / "cli_key").read_text("utf-8").strip()
        self.client = httpx2.Client(
            base_url=self.machine.url,
            headers={"Authorization": f"Bearer {key}"},
            timeout=30,
            trust_env=False,
        )
        self.endings.callback(self.client.close)

    @property
    def file(self) -> Path:
        return self.machine.home.parent / "logchord.yaml"

    def type(self, *words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = self.machine.run(*words)
        assert done.returncode == code, f"{words}: {done.stdout}{done.stderr}"
        return done

    def strike_out(self, name: str) -> None:
        """Take a source out of the configuration, by hand."""
        found = yaml.safe_load(self.file.read_text("utf-8"))
        del found["sources"][name]
        self.file.write_text(yaml.safe_dump(found, sort_keys=False), "utf-8")

    def open_book(self, name: str, count: int) -> Logbook:
        """Let a logbook of a kind exist that has been written for a while."""
        kind = KINDS[name]
        stub = self.endings.enter_context(closing(kind.make_stub()))
        book = self.books[name] = Logbook(name, kind, stub)
        book.fill(count)
        return book

    def add(self, name: str) -> None:
        """Add a logbook as its user does, until it is found by a search."""
        book = self.books[name]
        word = word_of(name, max(map(book.numbers.__getitem__, book.texts)))
        began = time.monotonic()
        self.type("source", "add", *book.words)
        added = time.monotonic() - began
        # The newest come first.
        until(
            lambda: self.search(name, word)["results"],
            within_seconds=LOADED_SECONDS,
            what=f"the newest entry of {name}",
        )
        self.seconds[name] = {"added": added, "first hit": time.monotonic() - began}

    def search(self, name: str, *words: str) -> dict[str, Any]:
        """Ask as the command does: each start of one takes a second here."""
        question = {
            "query": " ".join(words),
            "mode": "keyword",
            "limit": 1,
            "filters": {"source": name},
        }
        return ok(self.client.post("/v1/search/query", json=question))

    def texts(self, name: str) -> dict[str, str]:
        """Return what a search for all of a source finds, by id."""
        asked = ("--filter", f"source={name}", "--exhaustive", "--export", "jsonl")
        return _texts(self.type("search", *asked).stdout)

    def texts_now(self, name: str) -> dict[str, str]:
        """Return the same without a command."""
        question = {"filters": {"source": name}, "exhaustive": True}
        answer = self.client.post(
            "/v1/search/export", params={"format": "jsonl"}, json=question
        )
        assert answer.status_code == 200, answer.text
        return _texts(answer.text)

    def files(self, book: Logbook) -> dict[str, dict[str, bytes]]:
        """Return the files of each entry that should have some, as they are saved."""
        found = {}
        for place, external_id in enumerate(book.files):
            folder = self.machine.home.parent / f"files-{book.name}-{place}"
            shutil.rmtree(folder, ignore_errors=True)
            shown = f"{book.name}/{external_id}"
            self.machine.type("show", shown, "--attachments", str(folder))
            saved = sorted(folder.iterdir()) if folder.exists() else []
            found[external_id] = {one.name: one.read_bytes() for one in saved}
        return found

    def lacks_files(self, name: str) -> bool:
        """Tell whether a file of a logbook is still to be fetched."""
        expected = sum(map(len, self.books[name].files.values()))
        page = self.client.get("/v1/entries", params={"source": name, "limit": 100})
        files = [one for item in page.json()["items"] for one in item["attachments"]]
        return sum(one["state"] == "stored" for one in files) < expected

    def wait_complete(self, names: Sequence[str]) -> None:
        """Wait until each history is walked: till then polls ask for new ones only."""

        def are_complete() -> bool:
            return all(self._has_history(name) for name in names)

        until(are_complete, within_seconds=LOADED_SECONDS, what="the whole history")

    def _has_history(self, name: str) -> bool:
        states = {one["kind"]: one["state"] for one in reversed(self._runs(name))}
        return states.get("backfill", "done") == "done"

    def _runs(self, name: str) -> list[dict[str, Any]]:
        """Return the runs of a source, the newest first."""
        asked: dict[str, str | int] = {"source": name, "limit": 100}
        answer = self.client.get("/v1/runs", params=asked).json()
        runs: list[dict[str, Any]] = answer["items"]
        return runs

    def polls_until(self, name: str, since: datetime) -> int:
        """Return how many polls that began since it took to bring what they brought."""
        polls = [
            run
            for run in reversed(self._runs(name))
            if run["kind"] == "tail"
            and run["started_at"]
            and datetime.fromisoformat(run["started_at"]) >= since
        ]
        brought = [
            place
            for place, run in enumerate(polls, 1)
            if run["added"] + run["updated"] + run["deleted"]
        ]
        # 0: by the one that was under way.
        return max(brought, default=0)

    def line(self, name: str) -> Line:
        """Hold against a logbook what its readers are given of it by commands."""
        book = self.books[name]
        times = self.seconds.get(name, {})
        return held_against(book, self.texts(name), self.files(book), times)

    def wait_right(self, names: Sequence[str], step: str, within: float) -> None:
        """Wait until each logbook is here as it is, and note how long it took."""
        began = time.monotonic()
        left = list(names)

        def is_right(name: str) -> bool:
            found = held_against(self.books[name], self.texts_now(name), {}, {})
            if not found.has_right_texts or self.lacks_files(name):
                return False
            self.seconds[name][step] = time.monotonic() - began
            return True

        def are_right() -> bool:
            left[:] = [name for name in left if not is_right(name)]
            return not left

        try:
            until(are_right, within_seconds=within, every_seconds=0.5, what=step)
        except AssertionError as exc:
            told = "\n".join(self.type("source", "show", name).stdout for name in left)
            lines = table([self.line(name) for name in left])
            message = f"{step}:\n{lines}\n{told}"
            raise AssertionError(message) from exc

    def close_ledger(self) -> None:
        """Print what is here of every logbook; all of it must be right."""
        lines = [self.line(name) for name in self.books]
        show(lines)
        assert all(one.is_right for one in lines), table(lines)


def _texts(export: str) -> dict[str, str]:
    rows = [json.loads(one) for one in export.split("\n") if one]
    assert rows.pop()["complete"]
    return {one["external_id"]: one["text"] for one in rows}


@pytest.fixture
def desk(tmp_path: Path, reap: Reap) -> Iterator[Desk]:
    """A stack in a folder of its own, as `logchord up` starts it."""
    one = machine(tmp_path)
    reap(tmp_path)
    made = Desk(one)
    made.file.write_text("sources:\n  api: {adapter: push}\n", "utf-8")
    with made.endings:
        yield made
        assert one.run("down").returncode == 0
        service_user.discard_home(one.home)


def test_an_elog_and_a_file_that_are_added_are_here_to_the_last_word(desk) -> None:
    names = ("elog_http", "generic_json")
    desk.machine.environ["EMBEDDING_MODEL"] = "hashing-64"
    for name in names:
        desk.open_book(name, 12)
    desk.start()
    for name in names:
        desk.add(name)
        assert desk.seconds[name]["first hit"] <= FIRST_HIT_SECONDS * PATIENCE
    desk.wait_right(list(names), "all of it", 60)
    desk.wait_complete(names)

    for name, book in desk.books.items():
        edited, deleted = book.of_its_own(2)
        book.edit(edited)
        book.delete(deleted)
        book.write(datetime.now(UTC), with_file=True)
        book.finish()
        # As two polls of the next two minutes.
        kinds = ["tail", "tail"]
        if book.kind.deletions == "reconcile":
            kinds.append("reconcile")
        for kind in kinds:
            desk.type("source", "trigger", name, "--kind", kind, "--wait")
    desk.wait_right(names, "changes", 30)
    desk.close_ledger()


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.timeout(2400)
def test_logbooks_of_every_kind_that_are_added_are_here_to_the_last_word(desk) -> None:
    # With its search engine and its model, as anybody has it.
    del desk.machine.environ["OPENSEARCH_URL"]
    for name in KINDS:
        desk.open_book(name, 40)
    desk.start()
    for name in KINDS:
        desk.add(name)
    desk.wait_right(list(KINDS), "all of it", LOADED_SECONDS)
    desk.wait_complete(list(KINDS))
    slowest = {name: of["first hit"] for name, of in desk.seconds.items()}
    assert max(slowest.values()) <= FIRST_HIT_SECONDS, slowest

    _change_what_polls_see(desk)
    _change_what_is_compared(desk)
    _change_the_login(desk)
    _remove_a_source(desk, "olog")
    desk.close_ledger()


def _change_what_polls_see(desk: Desk) -> None:
    """New entries and edits are here by the next poll, deletions by the second."""
    since = {}
    for name, book in desk.books.items():
        book.write(datetime.now(UTC), with_file=True)
        if book.kind.edits == "poll":
            book.edit(book.of_its_own(1)[0])
        book.finish()
        since[name] = datetime.now(UTC)
    desk.wait_right(list(desk.books), "poll", POLL_SECONDS * PATIENCE)
    polls = {name: desk.polls_until(name, at) for name, at in since.items()}
    assert max(polls.values()) <= 1, polls
    polled = {n: one for n, one in desk.books.items() if "poll" in one.kind.deletions}
    for name, book in polled.items():
        book.delete(book.of_its_own(2)[1])
        since[name] = datetime.now(UTC)
    desk.wait_right(list(polled), "deleted", DELETED_SECONDS)
    polls = {name: desk.polls_until(name, since[name]) for name in polled}
    assert max(polls.values()) <= 2, polls


def _change_what_is_compared(desk: Desk) -> None:
    """What no poll tells of is found by the comparison, which is asked for here."""
    compared = []
    for name, book in desk.books.items():
        edited, deleted = book.of_its_own(2)
        if book.kind.edits == "reconcile":
            book.edit(edited)
        if book.kind.deletions == "reconcile":
            book.delete(deleted)
        if "reconcile" in {book.kind.edits, book.kind.deletions}:
            compared.append(name)
            desk.type("source", "trigger", name, "--kind", "reconcile", "--wait")
    desk.wait_right(compared, "compared", LOADED_SECONDS)


def _change_the_login(desk: Desk) -> None:
    """A login that is refused is told of by searches, and mended without a restart."""
    secret = desk.machine.home.parent / "password"
    secret.write_text("s3cret", "utf-8")
    secret.chmod(0o600)
    stub = ElogServerStub(user="operator", password="s3cret")
    desk.endings.enter_context(closing(stub))
    # Its one logbook is named below.
    kind = replace(KINDS["elog_http"], is_elog=False)
    book = desk.books["guarded"] = Logbook("guarded", kind, stub)
    book.fill(8)
    login = ("--user", "operator", "--secret", str(secret))
    words = ("source", "add", *book.words, *login)
    named = ("--logbook", "Operations")
    refused = desk.type(*words, *named, code=1)
    assert "nobody may read Operations here" in refused.stderr
    desk.type(*words, *named, "--readers", "Operations=*")
    told = desk.type("source", "show", "guarded").stdout
    assert "who may read      Operations: all; others: nobody" in told
    desk.seconds["guarded"] = {}
    desk.wait_right(["guarded"], "all of it", LOADED_SECONDS)

    stub.change_password("another")
    book.write(datetime.now(UTC))

    def is_told() -> bool:
        behind = desk.search("guarded", "Cavity")["sources_behind"]
        return [(one["source"], one["why"]) for one in behind] == [
            ("guarded", "failing")
        ]

    until(is_told, within_seconds=POLL_SECONDS * PATIENCE, every_seconds=1)
    # Each of the processes that search learns of it by itself.
    until(
        lambda: "guarded (failing, last read" in desk.type("search", "Cavity").stdout,
        within_seconds=POLL_SECONDS,
    )
    secret.write_text("another", "utf-8")
    desk.type("source", "resume", "guarded")
    desk.wait_right(["guarded"], "login", POLL_SECONDS)
    until(
        lambda: desk.search("guarded", "Cavity")["sources_behind"] == [],
        within_seconds=POLL_SECONDS,
    )


def _remove_a_source(desk: Desk, name: str) -> None:
    """What a removed source has left says so, and goes by one command."""
    (hit,) = desk.search(name, "Cavity")["results"]
    assert hit["source_removed"] is False
    desk.strike_out(name)
    reloaded = desk.type("source", "reload")
    assert reloaded.stdout == f"removed {name}\n"
    assert f"logchord source delete-entries {name}" in reloaded.stderr
    until(
        lambda: desk.search(name, "Cavity")["results"][0]["source_removed"],
        within_seconds=10,
    )
    ref = f"{name}/{hit['external_id']}"
    # Another process shows it than found it, and learns of it by itself.
    until(
        lambda: "source removed" in desk.type("show", ref).stdout.splitlines()[1],
        within_seconds=10,
    )
    desk.type("source", "delete-entries", name, "--yes")
    book = desk.books[name]
    book.texts, book.files = {}, {}
    desk.wait_right([name], "removed", LOADED_SECONDS)
