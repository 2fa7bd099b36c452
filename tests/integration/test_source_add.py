"""`logchord source add`: an address becomes a source in the configuration file."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml

from api.cli import source_file
from shared.errors import ConfigurationError
from tests.contract.stubs.olog import OlogStub
from workers.adapters.kit.stub import StubEntry

BIN = Path(sys.executable).parent


@pytest.fixture
def olog():
    with closing(OlogStub()) as stub:
        time = datetime.now(UTC) - timedelta(days=1)
        stub.add(StubEntry(7, time, "RF trip", "Cavity 2"))
        yield stub


@pytest.fixture
def run(tmp_path):
    environment = {
        "PATH": os.environ["PATH"],
        "LOGCHORD_HOME": str(tmp_path / "home"),
        # Nothing runs there.
        "LOGCHORD_URL": "http://127.0.0.1:9",
        "LOGCHORD_API_KEY": "none",
    }

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(BIN / "logchord"), "source", "add", *words],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
            timeout=60,
        )

    return run


def address(stub: OlogStub) -> str:
    return str(stub.settings()["base_url"])


def test_an_olog_is_recognised_checked_and_written_down(run, olog, tmp_path):
    done = run(address(olog), "--name", "ring")

    assert done.returncode == 0, done.stderr
    assert "This is Phoebus Olog" in done.stderr
    assert "RF trip" in done.stderr
    written = yaml.safe_load((tmp_path / "logchord.yaml").read_text("utf-8"))
    assert written["sources"]["ring"] == {
        "adapter": "olog",
        "base_url": address(olog),
    }
    # What a file without sources stood for is not lost by writing one.
    assert written["sources"]["api"] == {"adapter": "push"}


def test_comments_order_and_other_sources_stay_as_they_were(run, olog, tmp_path):
    before = (
        "# Ours.\nport: 8100  # not the usual one\n\nsources:\n"
        "    # What programs send.\n    hall-b:\n        adapter: push\n"
    )
    (tmp_path / "logchord.yaml").write_text(before, "utf-8")

    assert run(address(olog), "--name", "ring").returncode == 0

    after = (tmp_path / "logchord.yaml").read_text("utf-8")
    assert [line for line in after.splitlines() if line in before.splitlines()] == (
        before.splitlines()
    )
    assert set(yaml.safe_load(after)["sources"]) == {"hall-b", "ring"}


def test_a_list_of_sources_gets_one_item_more():
    before = "sources:\n- {name: a, adapter: push}\nport: 8100\n"
    after = source_file.with_source(before, "b", {"adapter": "olog"}, "")
    assert yaml.safe_load(after) == {
        "sources": [
            {"name": "b", "adapter": "olog"},
            {"name": "a", "adapter": "push"},
        ],
        "port": 8100,
    }


def test_sources_on_one_line_are_not_guessed_at():
    with pytest.raises(ConfigurationError, match="on one line"):
        source_file.with_source("sources: {}\n", "b", {"adapter": "olog"}, "")


def test_what_nobody_recognises_is_said_with_whom_was_asked(run, tmp_path):
    done = run("http://127.0.0.1:9/")

    assert done.returncode == 3
    assert "Asked as:" in done.stderr
    assert "olog" in done.stderr
    assert not (tmp_path / "logchord.yaml").exists()


def test_a_name_that_is_taken_or_an_address_with_a_login_is_refused(run, olog):
    assert run(address(olog), "--name", "api").returncode == 2
    with_login = address(olog).replace("http://", "http://me:secret@")
    refused = run(with_login)
    assert refused.returncode == 2
    assert "secret@" not in refused.stderr
