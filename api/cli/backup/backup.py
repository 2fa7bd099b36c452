"""`logchord backup`: all that cannot be made again, in one file, while all runs."""

import os
from dataclasses import asdict
from pathlib import Path

import click

from api.cli import output
from api.cli.backup.make_backup import Backup, make_backup
from api.cli.backup.reached_database import load_settings, reach_database
from api.cli.output import Output
from api.cli.stack.progress import show_steps

_MB = 1_000_000


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Replace a file that exists.")
def backup(*, file: Path, force: bool) -> None:
    """Write database, attachments, keys and configuration to FILE, while all runs.

    Whoever has FILE has every secret of this installation: it is for your eyes only.
    """
    out = output.current()
    settings = load_settings(os.environ)
    with show_steps(out) as steps, reach_database(steps, settings) as url:
        made = make_backup(settings, url, file, steps, force=force)
    if not out.prints_json(asdict(made)):
        tell_backup(out, made)


def tell_backup(out: Output, made: Backup) -> None:
    """Tell the contents of a backup, and what it lacks."""
    out.data(
        f"{made.file}: {made.bytes / _MB:.1f} MB; entries: {made.entries}, attached"
        f" files: {made.attachments}, files of the configuration:"
        f" {len(made.configuration)}."
    )
    if made.missing_attachments:
        out.complain(
            f"Not in it, for the store has them no longer as they were put there:"
            f" {made.missing_attachments} attached files."
        )
    out.say(
        "It holds passwords and keys, so that only you may read it. Variables of the"
        " environment are not in it."
    )
