"""A database for one run of the kit, in a server that somebody else has started."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql

from shared import migrations


@contextmanager
def temporary(server: str) -> Iterator[str]:
    """Return the address of a migrated database, and drop it behind its user."""
    name = f"logchord_kit_{secrets.token_hex(6)}"
    url = urlunsplit(urlsplit(server)._replace(path=f"/{name}"))
    database = sql.Identifier(name)
    _execute(server, sql.SQL("CREATE DATABASE {}").format(database))
    # Nobody's data: who dies in the kit is a thread, and the server outlives it.
    off = sql.SQL("ALTER DATABASE {} SET synchronous_commit = off")
    _execute(server, off.format(database))
    try:
        migrations.migrate(url)
        yield url
    finally:
        drop = sql.SQL("DROP DATABASE {} WITH (FORCE)")
        _execute(server, drop.format(database))


def _execute(server: str, statement: sql.Composed) -> None:
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(statement)
