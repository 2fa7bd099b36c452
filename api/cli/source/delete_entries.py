"""`logchord source delete-entries NAME`: what a removed source has left behind."""

import os
from uuid import UUID

import click

from api.cli import output
from api.cli.output import UsageError
from shared.access import keys
from shared.access.audit_records import note_command
from shared.entries.removal import retention
from shared.postgres.pool import Pool, connection, make_pool
from shared.settings.settings import Settings
from shared.sources import source_state
from shared.stages import entry_stages

# The entries of one transaction, few enough that searches and pushes do not wait.
_AT_ONCE = 500


@click.command("delete-entries")
@click.argument("name")
@click.option("--tenant", default=keys.DEFAULT_TENANT, help="Whose entries.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def delete_entries(*, name: str, tenant: str, yes: bool) -> None:
    """Delete every entry of a source that is configured no more.

    They leave the search at once, and come back if the source is added again. Whoever
    holds DATABASE_URL may.
    """
    out = output.current()
    settings = Settings.load(os.environ)
    url = settings.require_database_url()
    with make_pool(url, application="delete-entries", size=1) as pool:
        _check_removed(pool, settings, name)
        if not yes:
            click.confirm(f"Delete every entry of {name}?", abort=True, err=True)
        count = _delete(pool, settings, tenant, name)
    if not out.prints_json({"source": name, "deleted": count}):
        out.data(f"deleted {count:,} entries of {name}")


def _check_removed(pool: Pool, settings: Settings, name: str) -> None:
    with connection(pool) as conn:
        is_asked = source_state.tenant_of(conn, name) is not None
    if is_asked or name in settings.sources:
        raise UsageError(
            f"{name} is configured, and would bring its entries again: take it out of"
            " the configuration file, then run `logchord source reload`."
        )


def _delete(pool: Pool, settings: Settings, tenant: str, name: str) -> int:
    stages = entry_stages.list_deletion_stages(settings)
    count, after = 0, UUID(int=0)
    with connection(pool) as conn:
        note_command(conn, "logchord source delete-entries", name, tenant=tenant)
    while True:
        with connection(pool) as conn:
            gone = retention.delete_of_source(
                conn, tenant, name, stages=stages, limit=_AT_ONCE, after=after
            )
        count += len(gone)
        if len(gone) < _AT_ONCE:
            return count
        after = gone[-1]
