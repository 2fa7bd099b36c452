"""The secret of this installation, by which it knows what it has signed itself."""

from __future__ import annotations

from typing import LiteralString

from psycopg import Connection

_SECRET: LiteralString = "SELECT cursor_secret FROM installation"  # noqa: S105 - a query


def installation_secret(conn: Connection) -> bytes:
    """Return the secret that all processes of this installation sign with."""
    row = conn.execute(_SECRET).fetchone()
    assert row is not None
    return bytes(row[0])
