"""The servers of `local/`, started for real: what they promise the stack."""

import json
import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import psycopg
import pytest
import redis

from local import service_user
from local.ports import Ports
from local.postgres import EmbeddedPostgres, memory_at_hand, of_memory
from local.server import (
    EmbeddedServer,
    PortTakenError,
    ServerError,
    StackFolders,
    free_port,
)
from local.valkey import EmbeddedValkey
from tests.support.waiting import until

PASSWORD = "s p&ce/and@sign"
READY_SECONDS = 60

MakeServer = Callable[..., EmbeddedServer]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[StackFolders]:
    """Give one stack of its own, which leaves nothing behind."""
    home = tmp_path / "home"
    yield StackFolders(home=home, cache=tmp_path / "cache")
    service_user.discard_home(home)


@pytest.fixture
def postgres(place: StackFolders) -> Iterator[EmbeddedPostgres]:
    """Give a Postgres that serves."""
    server = EmbeddedPostgres(place, free_port(), PASSWORD)
    server.start()
    server.wait_ready(READY_SECONDS)
    yield server
    server.stop()


@pytest.fixture
def valkey(place: StackFolders) -> Iterator[EmbeddedValkey]:
    """Give a Valkey that serves."""
    server = EmbeddedValkey(place, free_port(), PASSWORD)
    server.start()
    server.wait_ready(READY_SECONDS)
    yield server
    server.stop()


def listening(pid: int) -> set[str]:
    """Return the addresses on which a process and its children listen."""
    process = psutil.Process(pid)
    return {
        connection.laddr.ip
        for member in (process, *process.children(recursive=True))
        for connection in member.net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    }


def command_lines() -> str:
    """Return what every process shows to everybody."""
    return "\n".join(
        " ".join(process.info["cmdline"] or ())
        for process in psutil.process_iter(["cmdline"])
    )


def test_postgres_has_vectors_trigrams_and_whole_umlauts(postgres):
    with psycopg.connect(postgres.url) as conn:
        conn.execute("CREATE EXTENSION vector")
        conn.execute("CREATE EXTENSION pg_trgm")
        row = conn.execute(
            "SELECT lower('ÄÖÉ'), 'Über' ILIKE '%über%',"
            " cardinality(show_trgm('Über')),"
            " current_setting('fsync'), current_setting('jit'),"
            " current_setting('max_connections'), current_setting('TimeZone')"
        ).fetchone()
        locale = conn.execute(
            "SELECT datlocprovider, datlocale, datcollate, datctype FROM pg_database"
            " WHERE datname = 'logchord'"
        ).fetchone()
    assert row == ("äöé", True, 5, "on", "off", "200", "UTC")
    assert locale == ("b", "C.UTF-8", "C", "C.UTF-8")


@pytest.mark.requirement("SEC15")
def test_postgres_and_valkey_bind_loopback_and_want_a_password_nobody_sees(
    postgres, valkey
):
    assert listening(postgres.pid or 0) == {"127.0.0.1"}
    assert listening(valkey.pid or 0) == {"127.0.0.1"}
    with pytest.raises(psycopg.OperationalError, match="password authentication"):
        psycopg.connect(postgres.url.replace("%40", "%41"))
    with psycopg.connect(postgres.url) as conn:
        methods = conn.execute("SELECT DISTINCT auth_method FROM pg_hba_file_rules")
        assert methods.fetchall() == [("scram-sha-256",)]
    with (
        redis.Redis(port=valkey.port) as nobody,
        pytest.raises(redis.AuthenticationError),
    ):
        nobody.ping()
    assert PASSWORD not in command_lines()
    secret = valkey.config_folder / "valkey.conf"
    assert secret.stat().st_mode & 0o077 == 0
    assert not postgres.config_folder.with_name("postgres-password").exists()


def test_postgres_takes_a_bounded_share_of_the_memory(postgres):
    def taken(gigabytes: float) -> tuple[str, str]:
        settings = of_memory(int(gigabytes * 2**30))
        return settings["shared_buffers"], settings["effective_cache_size"]

    assert taken(1) == ("128MB", "256MB")
    assert taken(8) == ("256MB", "2048MB")
    assert taken(512) == ("1024MB", "131072MB")
    with psycopg.connect(postgres.url) as conn:
        asked = "SELECT setting::int * 8 / 1024 || 'MB' FROM pg_settings WHERE name = "
        for name, value in of_memory(memory_at_hand()).items():
            assert conn.execute(f"{asked}'{name}'").fetchone() == (value,)


def test_a_container_counts_on_its_own_memory(tmp_path):
    limit = tmp_path / "memory.max"
    machine = psutil.virtual_memory().total
    assert memory_at_hand(limit) == machine
    for said, expected in [
        ("max\n", machine),
        ("268435456\n", 2**28),
        (f"{2 * machine}\n", machine),
    ]:
        limit.write_text(said)
        assert memory_at_hand(limit) == expected


def test_valkey_keeps_nothing_and_evicts_nothing(valkey):
    with redis.Redis.from_url(valkey.url) as client:
        kept = client.config_get("appendonly", "save", "maxmemory-policy")
        assert kept == {
            "appendonly": "no",
            "save": "",
            "maxmemory-policy": "noeviction",
        }
        client.set("nudge", "here")
    valkey.stop()
    assert list(valkey.data_folder.iterdir()) == []


def test_starting_twice_leaves_one_process(postgres, valkey, place):
    again = EmbeddedPostgres(place, postgres.port, PASSWORD)
    again.start()
    valkey_again = EmbeddedValkey(place, valkey.port, PASSWORD)
    valkey_again.start()
    assert (again.pid, valkey_again.pid) == (postgres.pid, valkey.pid)


def test_the_server_of_a_killed_supervisor_is_taken_over(place):
    port = free_port()
    supervisor = subprocess.Popen(
        [sys.executable, "-c", START_AND_WAIT, str(place.home), str(port), PASSWORD],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(service_user.__file__).parent.parent,
    )
    with supervisor:
        assert supervisor.stdout is not None
        pid = int(supervisor.stdout.readline())
        os.kill(supervisor.pid, signal.SIGKILL)
    heir = EmbeddedPostgres(place, port, PASSWORD)
    assert heir.pid == pid
    heir.start()
    assert heir.pid == pid
    heir.stop()
    assert heir.pid is None


START_AND_WAIT = textwrap.dedent("""
    import sys, pathlib
    from local.postgres import EmbeddedPostgres
    from local.place import StackFolders
    home = pathlib.Path(sys.argv[1])
    server = EmbeddedPostgres(StackFolders(home, home), int(sys.argv[2]), sys.argv[3])
    server.start()
    server.wait_ready(60)
    print(server.pid, flush=True)
    sys.stdin.read()
""")


def test_an_orphan_without_a_pid_file_on_another_port_is_replaced(valkey, place):
    orphan = valkey.pid
    valkey.pid_path.unlink()
    heir = EmbeddedValkey(place, free_port(), PASSWORD)
    heir.start()
    heir.wait_ready(READY_SECONDS)
    assert heir.pid not in {None, orphan}
    assert valkey.pid == heir.pid
    heir.stop()


@pytest.mark.requirement("SEC14", "SEC15")
def test_what_servers_print_and_what_locks_a_home_is_for_no_other_user(valkey, place):
    folders = (place.logs, place.run)
    assert [folder.stat().st_mode & 0o077 for folder in folders] == [0, 0]
    # As an older release left them.
    for folder in folders:
        folder.chmod(0o755)
    valkey.start()
    assert [folder.stat().st_mode & 0o777 for folder in folders] == [0o700, 0o700]


@pytest.mark.skipif(os.geteuid() != 0, reason="starts a process as another user")
@pytest.mark.requirement("SEC15")
def test_a_process_of_somebody_else_is_no_server_of_ours_whatever_it_is_called(place):
    server = EmbeddedValkey(place, free_port(), PASSWORD)
    server.start()
    server.wait_ready(READY_SECONDS)
    (*_, marker) = psutil.Process(server.pid).cmdline()
    recorded = json.loads(server.pid_path.read_text())
    server.stop()
    # `nobody` copies the command line and would be told the password as its client.
    copied = ["setpriv", "--reuid=65534", "sh", "-c", "sleep 60; true", marker]
    with subprocess.Popen(copied, start_new_session=True) as stranger:
        try:
            until(
                lambda: psutil.Process(stranger.pid).uids().effective == 65534,
                within_seconds=10,
                what="a process of another user",
            )
            server.pid_path.write_text(json.dumps({**recorded, "pid": stranger.pid}))
            assert server.pid != stranger.pid
            server.start()
            server.wait_ready(READY_SECONDS)
            assert server.pid not in {None, stranger.pid}
            assert stranger.poll() is None
        finally:
            server.stop()
            os.killpg(stranger.pid, signal.SIGKILL)


@pytest.mark.parametrize("left", ['{"pid": %d, "port": 1}', '{"pid": 4194999}', "{"])
def test_a_stale_pid_file_is_cleaned_and_no_stranger_is_stopped(place, left):
    server = EmbeddedValkey(place, free_port(), PASSWORD)
    server.pid_path.parent.mkdir(parents=True)
    ours = os.getpid()
    server.pid_path.write_text(left.replace("%d", str(ours)))
    assert server.pid is None
    server.stop()  # would end this test run if it believed the file
    server.start()
    server.wait_ready(READY_SECONDS)
    assert json.loads(server.pid_path.read_text())["pid"] == server.pid
    server.stop()
    assert not server.pid_path.exists()


def test_ports_that_a_power_cut_has_damaged_are_chosen_anew_and_kept(tmp_path):
    path = tmp_path / "ports.json"
    path.write_text("")
    chosen = Ports(path).kept("postgres")
    assert Ports(path).kept("postgres") == chosen


def test_a_taken_port_says_by_whom_and_how_to_choose_another(place):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        server = EmbeddedValkey(place, other.getsockname()[1], PASSWORD)
        with pytest.raises(PortTakenError) as caught:
            server.start()
    message = str(caught.value)
    assert f"pid {os.getpid()}" in message
    assert str(place.home / "ports.json") in message
    assert "BROKER_URL" in message
    assert server.pid is None


@pytest.mark.parametrize("kind", [EmbeddedPostgres, EmbeddedValkey])
def test_a_home_that_cannot_be_written_is_named(tmp_path, kind):
    (tmp_path / "file").write_text("not a folder")
    home = tmp_path / "file" / "home"
    server = kind(StackFolders(home, tmp_path), free_port(), PASSWORD)
    with pytest.raises(ServerError, match="LOGCHORD_HOME") as caught:
        server.start()
    assert str(home) in str(caught.value)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_home_is_named(tmp_path):
    tmp_path.chmod(0o500)
    server = EmbeddedValkey(
        StackFolders(tmp_path / "home", tmp_path), free_port(), PASSWORD
    )
    with pytest.raises(ServerError, match="may be written"):
        server.start()


def test_a_full_disk_is_told_before_anything_is_written(place, monkeypatch):
    monkeypatch.setattr(EmbeddedPostgres, "min_free_bytes", 1 << 60)
    server = EmbeddedPostgres(place, free_port(), PASSWORD)
    with pytest.raises(ServerError, match="is full") as caught:
        server.start()
    assert str(server.data_folder.parent) in str(caught.value)
    assert not server.data_folder.exists()


def test_a_disk_that_fills_up_while_the_cluster_is_made_leaves_no_half_cluster(
    place, monkeypatch
):
    server = EmbeddedPostgres(place, free_port(), PASSWORD)
    monkeypatch.setattr(EmbeddedPostgres, "min_free_bytes", 0)
    folder = server_data_parent(place)
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", folder],
        check=False,
        capture_output=True,
    ).returncode:
        pytest.skip("a small disk can be mounted as root only")
    try:
        folder.chmod(0o755)
        with pytest.raises(ServerError, match=r"(?s)data folder.*No space left"):
            server.start()
        assert not server.data_folder.exists()
    finally:
        subprocess.run(["umount", folder], check=True)


def server_data_parent(place: StackFolders) -> Path:
    """Make the folder that holds all data of a home, and return it."""
    place.home.mkdir(parents=True)
    folder = service_user.data_home(place.home) / "data"
    service_user.make_open(folder)
    return folder


def test_what_was_committed_survives_a_crash(postgres):
    with psycopg.connect(postgres.url) as conn:
        conn.execute("CREATE TABLE kept (n int)")
        conn.execute("INSERT INTO kept VALUES (7)")
    before = postgres.pid
    postgres.stop(crash=True)
    assert postgres.pid is None
    postgres.start()
    postgres.wait_ready(READY_SECONDS)
    assert postgres.pid != before
    with psycopg.connect(postgres.url) as conn:
        assert conn.execute("SELECT n FROM kept").fetchall() == [(7,)]
    assert "was not properly shut down" in postgres.log_path.read_text()


def test_postgres_starts_where_another_process_has_the_pid_of_one_killed(postgres):
    psutil.Process(postgres.pid).kill()
    until(lambda: postgres.pid is None, within_seconds=10)
    lock = postgres.data_folder / "postmaster.pid"
    _, _, rest = lock.read_text().partition("\n")
    # As after a power cut, or in a container, whose pids are few.
    with subprocess.Popen(service_user.as_service_user(["sleep", "60"])) as other:
        lock.write_text(f"{other.pid}\n{rest}")
        postgres.start()
        postgres.wait_ready(READY_SECONDS)
        assert other.poll() is None
        other.kill()
    with psycopg.connect(postgres.url) as conn:
        assert conn.execute("SELECT 1").fetchone() == (1,)


def test_a_server_that_was_killed_is_seen_as_dead_and_starts_again(valkey):
    os.kill(valkey.pid or 0, signal.SIGKILL)
    deadline = time.monotonic() + 5
    while valkey.pid is not None:
        assert time.monotonic() < deadline
    valkey.start()
    valkey.wait_ready(READY_SECONDS)
    assert valkey.pid is not None


def test_a_server_that_dies_at_start_says_its_last_words(postgres):
    postgres.stop()
    (postgres.data_folder / "global" / "pg_control").rename(
        postgres.data_folder / "global" / "gone"
    )
    postgres.start()
    with pytest.raises(ServerError, match=r"(?s)ended while it started.*pg_control"):
        postgres.wait_ready(READY_SECONDS)


@pytest.mark.parametrize("kind", [EmbeddedPostgres, EmbeddedValkey])
def test_a_home_opened_with_another_password_says_so(place, kind):
    server = kind(place, free_port(), PASSWORD)
    server.start()
    server.wait_ready(READY_SECONDS)
    try:
        other = kind(place, server.port, "another")
        other.start()
        with pytest.raises(ServerError, match="refuses the password"):
            other.wait_ready(READY_SECONDS)
    finally:
        server.stop()


def test_two_homes_live_side_by_side(place, tmp_path):
    second = StackFolders(tmp_path / "second", place.cache)
    servers = [EmbeddedValkey(each, free_port(), PASSWORD) for each in (place, second)]
    try:
        for server in servers:
            server.start()
            server.wait_ready(READY_SECONDS)
        assert len({server.pid for server in servers}) == len(servers)
    finally:
        for server in servers:
            server.stop()
        service_user.discard_home(second.home)
