"""Single statements in a database, each in a connection of its own."""

from collections.abc import Mapping, Sequence
from typing import Any, LiteralString

import psycopg

Values = Sequence[object] | Mapping[str, object]


def run_statement(
    database: str, statement: LiteralString, values: Values | None = None
) -> None:
    with psycopg.connect(database) as conn:
        conn.execute(statement, values)


def fetch_rows(
    database: str, statement: LiteralString, values: Values | None = None
) -> list[tuple[Any, ...]]:
    with psycopg.connect(database) as conn:
        return conn.execute(statement, values).fetchall()


def fetch_row(
    database: str, statement: LiteralString, values: Values | None = None
) -> tuple[Any, ...]:
    (row,) = fetch_rows(database, statement, values)
    return row


def fetch_value(
    database: str, statement: LiteralString, values: Values | None = None
) -> Any:
    """Return the first column of the only row."""
    return fetch_row(database, statement, values)[0]
