"""`logchord keys`: API keys, straight against Postgres."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import click

from api.cli import output
from api.cli.output import CommandError, UsageError
from api.cli.render.terminal import plain
from shared.access import keys as stored
from shared.access.audit_records import note_command
from shared.access.scope import SCOPES
from shared.postgres.pool import connect, translate_database_errors
from shared.settings.settings import Settings

if TYPE_CHECKING:
    from psycopg import Connection

_DEFAULT_SCOPES = ("read", "search")


@click.group()
def keys() -> None:
    """Create, list and revoke API keys; whoever holds DATABASE_URL may."""


@keys.command()
@click.option("--name", required=True, help="What the key is for.")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice(SCOPES),
    help="Again for more; read and search when none is named.",
)
@click.option("--tenant", default=stored.DEFAULT_TENANT, help="'*': all.")
@click.option("--subject", help="Whom it acts for; the name when absent.")
@click.option("--logbook", "logbooks", multiple=True, help="Only these logbooks.")
@click.option(
    "--rate-per-minute", type=click.IntRange(min=0), help="0: no limit of its own."
)
@click.option(
    "--expires-in-days", type=click.IntRange(1, 36_500), help="Never, when absent."
)
def create(
    *,
    name: str,
    scopes: tuple[str, ...],
    tenant: str,
    subject: str | None,
    logbooks: tuple[str, ...],
    rate_per_minute: int | None,
    expires_in_days: int | None,
) -> None:
    """Create a key and print its token, this once."""
    out = output.current()
    _refuse_odd_text(name, tenant, subject or "", *logbooks)
    expires_at = None
    if expires_in_days is not None:
        expires_at = datetime.now(UTC) + timedelta(days=expires_in_days)
    with _database() as conn:
        made = stored.create_key(
            conn,
            tenant=tenant,
            name=name,
            subject=subject,
            scopes=scopes or _DEFAULT_SCOPES,
            logbooks=logbooks or None,
            rate_per_minute=rate_per_minute,
            expires_at=expires_at,
        )
        note_command(conn, "logchord keys create", made.key_id, tenant=tenant)
    if out.prints_json({"key_id": made.key_id, "token": made.token}):
        return
    out.say("Keep it now: only its hash is stored, and it is not shown again.")
    out.data(made.token)


@keys.command("list")
@click.option("--tenant", default="*", help="'*': of all tenants.")
def list_keys(*, tenant: str) -> None:
    """List keys, newest first; never their secrets."""
    out = output.current()
    _refuse_odd_text(tenant)
    with _database() as conn:
        found = stored.list_keys(conn, tenant)
    if out.prints_json([{**asdict(row), "state": row.state} for row in found]):
        return
    for row in found:
        books = "all logbooks" if row.logbooks is None else ", ".join(row.logbooks)
        out.data(
            f"{row.key_id}  {row.state:<8} {row.tenant:<10}"
            f" {','.join(row.scopes):<20} {plain(f'{row.name} ({books})')}"
        )
    if not found:
        out.say("There are no keys; make one with `logchord keys create`.")


@keys.command()
@click.argument("key_id")
def revoke(*, key_id: str) -> None:
    """Revoke a key; every API process refuses it within two seconds."""
    _refuse_odd_text(key_id)
    with _database() as conn:
        found = stored.revoke(conn, stored.ANY_TENANT, key_id)
        if was_in_use := found is not None and found.was_in_use:
            note_command(conn, "logchord keys revoke", key_id, tenant=found.tenant)
    if not was_in_use:
        message = f"No key {key_id} is in use; `logchord keys list` shows which are."
        raise CommandError(message, exit_code=output.NOT_FOUND)
    output.current().say(f"Revoked {key_id}.")


@contextmanager
def _database() -> Iterator[Connection]:
    url = Settings.load(os.environ).require_database_url()
    with connect(url, application="keys") as conn, translate_database_errors():
        yield conn


def _refuse_odd_text(*texts: str) -> None:
    for text in texts:
        if not text.isprintable():
            raise UsageError(f"{text!r} holds characters that cannot be shown.")
