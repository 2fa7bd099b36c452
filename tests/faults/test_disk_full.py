"""F30: the disk of Postgres is full; nothing accepted is lost, and it comes back."""

import resource
import secrets
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from local import service_user
from local.postgres import EmbeddedPostgres
from local.server import free_port
from shared import migrations
from tests.support.commands import run_command
from tests.support.faults.measures.ledger import Ledger
from tests.support.faults.measures.size import QUICK_VECTORS, N
from tests.support.faults.posters import Posters
from tests.support.fixtures.own_servers import own_home, start_again
from tests.support.waiting import until

# The server refuses to start with less than 200 MB; the rest is filled up.
DISK_MEGABYTES = 320
FULL_SECONDS = 10.0
BACK_SECONDS = 15.0
CALLERS = 2


@dataclass
class Disk:
    """A Postgres whose disk can be filled, and how that was brought about."""

    server: EmbeddedPostgres
    how: str
    fill: Callable[[], None]
    free: Callable[[], None]


@pytest.fixture(params=["a small disk", "a limit on files"])
def disk(request, place, reap) -> Iterator[Disk]:
    """A small disk, where mounting is allowed; or a limit on the server's files."""
    with own_home(place, reap) as own:
        data = service_user.data_home(own.home) / "data"
        data.mkdir(mode=0o755)
        small = request.param == "a small disk"
        with _mounted(data) if small else nullcontext():
            server = EmbeddedPostgres(own, free_port(), secrets.token_urlsafe(16))
            start_again(server, reap)
            migrations.migrate(server.url)
            yield _small(server, data) if small else _limited(server)
            server.stop()


@contextmanager
def _mounted(folder: Path) -> Iterator[None]:
    options = f"size={DISK_MEGABYTES}m,mode=755"
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    if shutil.which("mount") is None:
        pytest.skip("there is no mount here: the limit on files stands in")
    done = run_command(command)
    if done.returncode != 0:
        pytest.skip(f"mounting is not allowed here: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def _small(server: EmbeddedPostgres, folder: Path) -> Disk:
    ballast = folder / "ballast"

    def fill() -> None:
        with ballast.open("wb", buffering=0) as file:
            size = 1_000_000
            while size:
                try:
                    file.write(b"x" * size)
                except OSError:
                    size //= 2

    return Disk(server, "tmpfs", fill, lambda: ballast.unlink(missing_ok=True))


def _limited(server: EmbeddedPostgres) -> Disk:
    """Nothing of the server's can grow: whatever it writes anew is refused."""
    prlimit = shutil.which("prlimit")
    if prlimit is None:
        pytest.skip("there is no prlimit here")
    was, _ = resource.getrlimit(resource.RLIMIT_FSIZE)

    def limit(soft: int) -> None:
        if server.pid is None:
            return
        own = psutil.Process(server.pid)
        size = "unlimited" if soft == resource.RLIM_INFINITY else str(soft)
        for process in [own, *own.children()]:
            # As the server's own user, who alone may without more capabilities.
            command = [prlimit, f"--fsize={size}:", f"--pid={process.pid}"]
            subprocess.run(
                service_user.as_service_user(command), capture_output=True, check=False
            )
        # Postgres may have ended for it at once.
        assert size in _limits(own.pid) or server.pid is None

    return Disk(server, "RLIMIT_FSIZE", lambda: limit(8192), lambda: limit(was))


def _limits(pid: int) -> str:
    """Return what the kernel says about the size of its files, if it is there."""
    path = Path(f"/proc/{pid}/limits")
    lines = path.read_text(encoding="ascii").splitlines() if path.exists() else []
    return next((one for one in lines if one.startswith("Max file size")), "")


@pytest.mark.slow
@pytest.mark.requirement("F30", "P1", "P9")
@pytest.mark.timeout(300)
def test_a_full_disk_refuses_posts_and_loses_none(make_system, disk, reap):
    system = make_system(database=disk.server.url, **QUICK_VECTORS)
    system.bring_up("api", "enhance", "embed", "upkeep")
    ledger = Ledger(system, "F30")
    # With the index of its own the shortest text takes new pages soon.
    ledger.words = (200, 400)
    posters = Posters(ledger, give_up=True)
    restarts = 0

    with posters.at_work(CALLERS):
        until(lambda: len(ledger.times) >= N // 2, within_seconds=60)
        disk.fill()
        filled = time.time()
        until(lambda: _refused_since(posters, filled) > 0, within_seconds=60)
        threading.Event().wait(FULL_SECONDS)
        disk.free()
        freed = time.time()
        ledger.note_end()

        def accepted_again() -> bool:
            nonlocal restarts
            if disk.server.pid is None:
                # As the stack does with a server of its own that ended.
                restarts += 1
                start_again(disk.server, reap)
            return any(
                one.status < 300 and one.began > freed for one in posters.requests
            )

        until(accepted_again, within_seconds=60, what="a post accepted again")
        back = time.time() - freed
        until(lambda: len(ledger.times) >= N, within_seconds=60)
    line = ledger.close(within_seconds=60)
    refused = posters.refused
    codes = {(one.status, one.code) for one in refused}
    print(
        f"F30 {disk.how} refused={len(refused)} {restarts=} back_s={back:.1f} {codes}"
    )

    assert {one.status for one in posters.requests} <= {200, 201, 503}
    assert all(one.told_when for one in refused)
    assert line.harm == {}
    assert line.accepted >= N
    assert back < BACK_SECONDS


def _refused_since(posters: Posters, when: float) -> int:
    return sum(one.began > when for one in posters.refused)
