"""`logchord upgrade`: the schema of this release, with a way back in a file."""

from __future__ import annotations

import os
import shlex
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click
from pydantic import SecretStr

from api.cli import output
from api.cli.backup.backup import tell_backup
from api.cli.backup.fill_database import look_at_database
from api.cli.backup.make_backup import Backup, make_backup
from api.cli.backup.reached_database import load_settings, reach_database
from api.cli.doctor import checks, database_checks
from api.cli.output import CommandError, Output
from api.cli.stack.progress import Steps, show_steps
from shared import migrations
from shared.postgres.pool import connect
from shared.version import VERSION

if TYPE_CHECKING:
    from shared.settings.settings import Settings

# What an upgrade mends itself, and what only processes that run can.
_NO_MATTER = frozenset({"migrations", "vectors", "pools"})


@click.command()
@click.option(
    "--to",
    "file",
    type=click.Path(path_type=Path),
    help="The backup's file; without it one below backups in the home.",
)
def upgrade(*, file: Path | None) -> None:
    """Check, back up, and migrate the database to this release's schema.

    The stack is stopped before it, and started by `logchord up` afterwards.
    """
    out = output.current()
    settings = load_settings(os.environ)
    with show_steps(out) as steps, reach_database(steps, settings) as url:
        pending, name = _pending(url)
        made = None
        if pending:
            _check(settings, url)
            made = _back_up(settings, url, file, steps)
            _migrate(url, steps)
    _tell(out, name, pending, made)


def _back_up(settings: Settings, url: str, file: Path | None, steps: Steps) -> Backup:
    try:
        to = file or _new_file(settings)
        return make_backup(settings, url, to, steps, force=False)
    except CommandError as exc:
        message = f"{exc.message} Nothing was migrated; `--to FILE` puts it elsewhere."
        raise CommandError(message) from exc


def _pending(url: str) -> tuple[list[migrations.Migration], str]:
    """Return the pending migrations, and the database; refuse it while it is in use."""
    with connect(url, application="upgrade", autocommit=True) as conn:
        pending = migrations.list_pending(conn)
        target = look_at_database(conn)
    if target.processes and any(one.phase == "post" for one in pending):
        message = (
            f"Processes of Logchord work on the database {target.name}:"
            f" {', '.join(target.processes)}. Those of an earlier release do not bear"
            " what is pending; stop them first."
        )
        raise CommandError(message)
    return pending, target.name


def _check(settings: Settings, url: str) -> None:
    """Refuse to begin where a precondition is not met."""
    reached = settings.model_copy(update={"database_url": SecretStr(url)})
    found = [*checks.of_machine(settings), *database_checks.of_database(reached)]
    unmet = [
        f"{one.name}: {one.found}. {one.remedy}"
        for one in found
        if one.state == "failed" and one.name not in _NO_MATTER
    ]
    if unmet:
        raise CommandError("\n".join(["Nothing was changed.", *unmet]))


def _new_file(settings: Settings) -> Path:
    folder = settings.home / "backups"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    now = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    return folder / f"before-{VERSION}-{now}.tar"


def _migrate(url: str, steps: Steps) -> None:
    step = "Migrating the database"
    steps.begin(step)
    migrations.migrate(url, announce=lambda name: steps.say(f"Applying {name}"))
    steps.end(step)


def _tell(
    out: Output,
    database: str,
    pending: list[migrations.Migration],
    made: Backup | None,
) -> None:
    applied = [one.name for one in pending]
    if out.prints_json({"applied": applied, "backup": made and made.file}):
        return
    if made is None:
        out.say("Nothing is pending: the schema is that of this release.")
        return
    tell_backup(out, made)
    out.data(f"{len(applied)} migrations applied. Now `logchord up`.")
    out.say(
        "The way back: stop the stack,"
        f" `logchord restore {shlex.quote(made.file)} --force {database}` by this"
        " release, and start the one that you came from. What came in since is lost,"
        " except for what sources still have."
    )
