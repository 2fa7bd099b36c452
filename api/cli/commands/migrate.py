"""`logchord migrate`: the schema of this release, applied once and in order."""

import os

import click

from api.cli import output
from api.cli.output import UsageError
from shared import migrations
from shared.migrations import Phase
from shared.settings.settings import Settings


@click.command()
@click.option("--pre", is_flag=True, help="Only what the running release bears.")
@click.option("--post", is_flag=True, help="Only what needs the new release.")
@click.option("--dry-run", is_flag=True, help="Name what is pending; change nothing.")
@click.option("--check", is_flag=True, help="Exit 1 when something is pending.")
def migrate(*, pre: bool, post: bool, dry_run: bool, check: bool) -> int:
    """Bring the database's schema up to date; a second run does nothing."""
    out = output.current()
    phase = _phase(pre=pre, post=post)
    only_look = dry_run or check
    names = migrations.migrate(
        Settings.load(os.environ).require_database_url(),
        phase=phase,
        dry_run=only_look,
        announce=lambda name: out.say(f"Applying {name}"),
    )
    if not out.prints_json({"pending" if only_look else "applied": names}):
        for name in names:
            out.data(name)
        out.say(_summary(len(names), only_look=only_look))
    return output.FAILED if check and names else output.DONE


def _phase(*, pre: bool, post: bool) -> Phase | None:
    if pre and post:
        message = "--pre and --post exclude each other; without either both are run."
        raise UsageError(message)
    return "pre" if pre else "post" if post else None


def _summary(count: int, *, only_look: bool) -> str:
    if not count:
        return "Nothing is pending."
    return f"{count} pending." if only_look else f"{count} applied."
