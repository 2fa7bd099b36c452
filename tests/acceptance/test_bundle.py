"""One archive installs and starts everything where no network is."""

import os
import shutil
from pathlib import Path

import pytest

from local import bundle, service_user
from local.place import ServerError
from shared.embedding.models import bge_small
from tests.support.commands import run_command
from tests.support.fixtures.servers import Reap
from tests.support.machine import BIN, machine

# No way out, but loopback; the names of users and files are those of the machine.
ALONE = ("unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh")
QUESTION = "why did gate valve 8 close with beam in the machine"
INSTALLED = f"""
make setup
.venv/bin/logchord up --demo --detach
.venv/bin/logchord doctor
.venv/bin/logchord ask "{QUESTION}"
.venv/bin/logchord down
"""


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.requirement("U31")
def test_a_bundle_installs_and_answers_without_a_network(
    tmp_path: Path, reap: Reap
) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root may take the network away")
    one = machine(tmp_path)
    # As it comes: with its search index, out of the bundle and no cache.
    del one.environ["OPENSEARCH_URL"]
    archive = tmp_path / "logchord.tar"
    made = run([str(BIN / "logchord"), "bundle", str(archive)], one.environ, tmp_path)
    sums = run(["sha256sum", str(archive)], one.environ, tmp_path)
    assert made.split()[0] == sums.split()[0]
    shutil.unpack_archive(archive, tmp_path, filter="data")
    environ = {**one.environ, "LOGCHORD_CACHE": str(tmp_path / "cache")}
    environ["UV_CACHE_DIR"] = str(tmp_path / "packages")
    reap(one.home)
    told = run([*ALONE, "sh", "-ec", INSTALLED], environ, tmp_path / "logchord")
    said = " ".join(told.split())
    assert "bge-small-en-v1.5-int8, sha256 " in said, said
    assert "Gate valve 8 closed with beam in the machine" in said
    service_user.discard_home(one.home)


def run(command: list[str], environ: dict[str, str], folder: Path) -> str:
    done = run_command(command, env=environ, cwd=folder)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def test_a_bundle_is_whole_or_not_there(tmp_path: Path, monkeypatch) -> None:
    target = tmp_path / "logchord.tar"
    (tmp_path / "requirements-uv.txt").write_text(
        "nothing-like-it==1.0 --hash=sha256:0"
    )
    monkeypatch.setattr(bundle, "_LOCKS", (str(tmp_path / "requirements-uv.txt"),))
    with pytest.raises(ServerError, match=r"pip .* failed"):
        bundle.write_bundle(target, tmp_path / "cache", bge_small.ARTIFACT)
    assert [one.name for one in tmp_path.iterdir()] == ["requirements-uv.txt"]
    monkeypatch.setattr(bundle, "ROOT", tmp_path)
    with pytest.raises(ServerError, match="is made in a clone"):
        bundle.write_bundle(target, tmp_path / "cache", bge_small.ARTIFACT)
    target.write_text("of last week")
    done = run_command([str(BIN / "logchord"), "bundle", str(target)])
    assert (done.returncode, target.read_text()) == (2, "of last week")
    assert "is there already" in done.stderr
