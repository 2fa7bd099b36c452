"""`logchord restore`: an installation put back as a backup has it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from api.cli import output
from api.cli.backup import archive, configuration_files
from api.cli.backup.fill_database import (
    TargetDatabase,
    fill_database,
    look_at_database,
    name_unknown,
)
from api.cli.backup.postgres_programs import find_programs
from api.cli.backup.reached_database import load_settings, reach_database
from api.cli.output import CommandError, Output
from api.cli.render.terminal import plain
from api.cli.stack.progress import Steps, show_steps
from local import stack
from shared.enrich.attachments.file_store import open_store
from shared.errors import SourceUnreachableError
from shared.postgres.pool import connect

if TYPE_CHECKING:
    from shared.settings.settings import Settings


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--force", metavar="DATABASE", help="Replace the entries that are in it.")
def restore(*, file: Path, force: str | None) -> None:
    """Put back what FILE holds; the stack must be stopped.

    What came in after the backup is lost, except for what sources still have: they are
    read again from where they stood then. A database that holds entries is replaced
    where --force gives its name.
    """
    out = output.current()
    with show_steps(out) as steps:
        manifest = _checked(file, steps)
        told, back = _restore(file, manifest, force, steps)
    _tell(out, file, manifest, told, back)


def _restore(
    file: Path, manifest: Mapping[str, Any], force: str | None, steps: Steps
) -> tuple[list[str], list[tuple[str, str, str]]]:
    """Put all of it back; tell of files, and of what was purged since the backup."""
    placed = configuration_files.put_settings_back(file, manifest, os.environ)
    is_filled = False
    try:
        settings = load_settings(os.environ)
        pid = stack.running_pid(settings.home)
        if pid is not None:
            message = f"A stack runs in {settings.home} (process {pid}):"
            raise CommandError(f"{message} `logchord down`.")
        others = configuration_files.put_files_back(file, manifest, settings)
        with (
            reach_database(steps, settings, makes=True) as url,
            connect(url, application="restore", autocommit=True) as conn,
        ):
            target = look_at_database(conn)
            _refuse_unfit(target, force)
            programs = find_programs(conn, url)
            _put_attachments_back(file, manifest, settings, steps)
            # That may have taken a while.
            target = look_at_database(conn)
            _refuse_unfit(target, force)
            step = "Filling the database"
            steps.begin(step)
            with archive.open_at(file, archive.DATABASE) as dump:
                fill_database(conn, target, programs, dump)
            is_filled = True
            steps.end(step)
            back = target.purged - look_at_database(conn).purged
    finally:
        if not is_filled:
            # Whatever is typed here next would be read by it.
            for what, path in placed:
                if what == configuration_files.PUT_BACK:
                    path.unlink()
    return [f"{what}: {path}" for what, path in (*placed, *others)], sorted(back)


def _checked(file: Path, steps: Steps) -> dict[str, Any]:
    """Return the manifest of a backup that is whole and fits this release."""
    step, size = "Checking the backup", file.stat().st_size if file.is_file() else 0
    steps.begin(step)
    manifest = archive.check(file, lambda done: steps.advance(step, done, size))
    steps.end(step)
    unknown = name_unknown(manifest["schema"])
    if unknown:
        message = (
            f"{file} is of another release ({manifest['release']}): this one does not"
            f" know {unknown[0]} as it is there. Install that release."
        )
        raise CommandError(message)
    return manifest


def _refuse_unfit(target: TargetDatabase, force: str | None) -> None:
    """Refuse a database that is in use, of somebody else, or holds entries."""
    if target.processes:
        message = (
            f"Processes of Logchord work on the database {target.name}:"
            f" {', '.join(target.processes)}. Stop them first."
        )
        raise CommandError(message)
    if target.tables and not target.is_ours:
        message = (
            f"The database {target.name} holds tables that are not Logchord's, such as"
            f" {target.tables[0]}. Give DATABASE_URL an empty one."
        )
        raise CommandError(message)
    if target.entries and force != target.name:
        message = (
            f"The database {target.name} holds {target.entries} entries, and none of"
            f" them would be left. `--force {target.name}` replaces them."
        )
        raise CommandError(message)


def _put_attachments_back(
    file: Path, manifest: Mapping[str, Any], settings: Settings, steps: Steps
) -> None:
    # Before the database: of what it does not name there may be more, never less.
    store, step = open_store(settings), "Putting the attachments back"
    steps.begin(step)
    done = 0
    for sha256, size, content in archive.each_attachment(file):
        try:
            store.put(content, sha256, size)
        except SourceUnreachableError as exc:
            message = f"{exc.message} The database is as it was. ({exc.technical})"
            raise CommandError(message) from exc
        done += size
        steps.advance(step, done, manifest["attachment_bytes"])
    steps.end(step)


def _tell(
    out: Output,
    file: Path,
    manifest: Mapping[str, Any],
    told: list[str],
    back: list[tuple[str, str, str]],
) -> None:
    found = {
        "restored": str(file),
        "taken_at": manifest["taken_at"],
        "entries": manifest["entries"],
        "attachments": manifest["attachments"],
        "configuration": told,
        "purged_since": ["/".join(name[:2]) for name in back],
    }
    if out.prints_json(found):
        return
    out.data(
        f"Restored as it was at {manifest['taken_at']}; entries:"
        f" {manifest['entries']}, attached files: {manifest['attachments']}."
    )
    for line in told:
        out.say(line)
    if back:
        out.complain("What was purged since is kept out no longer; purge it again:")
    for source, external_id, tenant in back:
        named = shlex.join([f"{source}/{external_id}", "--tenant", tenant])
        out.complain(plain(f"logchord purge {named}"))
    out.say(
        "Now `logchord up`, or start your processes after `logchord migrate`. The"
        " search index is brought in line with it by itself; sources are read again"
        " from where they stood then; what was pushed since is lost, so push it again."
    )
