"""Postgres's own programs: those that came along, or those of this machine."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from psycopg.conninfo import conninfo_to_dict, make_conninfo

from api.cli.output import CommandError
from local import postgres

if TYPE_CHECKING:
    from psycopg import Connection

_MAJOR = re.compile(r"\b(\d+)(\.|devel|beta|rc|\b)")
_PATIENCE_SECONDS = 30
_LAST_WORDS_CHARS = 1000


@dataclass(frozen=True)
class PostgresPrograms:
    """Programs that fit a server, and how they reach its database."""

    folder: Path
    conninfo: str
    environ: Mapping[str, str]

    def command(self, name: str, *arguments: str) -> list[str]:
        """Return the command line of a program that connects; no password is in it."""
        return [f"{self.folder}/{name}", f"--dbname={self.conninfo}", *arguments]


def find_programs(conn: Connection, url: str) -> PostgresPrograms:
    """Return programs that are no older than the server, or say what to install."""
    wanted = conn.info.server_version // 10_000
    given = conninfo_to_dict(url)
    password = {"PGPASSWORD": str(given.pop("password"))} if "password" in given else {}
    environ = {**os.environ, **password}
    on_path = shutil.which("pg_dump")
    folders = [postgres.programs_folder(), Path(on_path).parent if on_path else None]
    for folder in filter(None, folders):
        if _major(folder / "pg_dump") >= wanted:
            return PostgresPrograms(folder, make_conninfo("", **given), environ)
    message = (
        f"The server is PostgreSQL {wanted}, and there is no pg_dump of that release or"
        f" later here. Install its client programs (package postgresql-client-{wanted})"
        " so that PATH finds them."
    )
    raise CommandError(message)


@contextmanager
def running(
    command: list[str],
    environ: Mapping[str, str] | None = None,
    **ends: int | IO[bytes],
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program while the block lasts; one that has not ended by then is killed."""
    with subprocess.Popen(command, env=environ, **ends) as process:  # type: ignore[call-overload]  # noqa: S603 - of Postgres
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()
            if process.stdin is not None:
                with suppress(BrokenPipeError):
                    process.stdin.close()


def last_words(told: IO[bytes]) -> str:
    """Return the end of what programs have complained of."""
    told.seek(0)
    return told.read().decode("utf-8", "replace").strip()[-_LAST_WORDS_CHARS:]


def _major(program: Path) -> int:
    try:
        told = subprocess.run(  # noqa: S603 - a program of Postgres
            [str(program), "--version"],
            capture_output=True,
            text=True,
            timeout=_PATIENCE_SECONDS,
            check=False,
        ).stdout
    except OSError:
        return 0
    found = _MAJOR.search(told)
    return int(found[1]) if found else 0
