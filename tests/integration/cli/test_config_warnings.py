"""What is accepted and not acted on is said at start and by `logchord doctor`."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.commands import run_command

LOGCHORD = Path(sys.executable).parent / "logchord"


def run(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    kept = ("PATH", "LANG", "LOGCHORD_CACHE")
    environ = {name: os.environ[name] for name in kept if name in os.environ}
    given = {"LOGCHORD_HOME": str(home), "QDRANT_URL": "http://qdrant:6333"}
    return run_command(
        [LOGCHORD, *arguments], cwd=home, env=environ | given, timeout=60
    )


@pytest.mark.requirement("S1-67")
def test_an_ignored_qdrant_url_is_named_at_start_and_by_doctor(tmp_path):
    # Without a database the API refuses to serve, after it has said what it ignores.
    started = run(tmp_path, "serve", "api")
    assert "warning: QDRANT_URL in the environment names a Qdrant" in started.stderr
    report = json.loads(run(tmp_path, "doctor", "--json").stdout)
    found = [one for one in report["checks"] if one["name"] == "configuration"]
    assert [one["state"] for one in found] == ["note"]
    assert found[0]["found"].startswith("QDRANT_URL in the environment names a Qdrant")
