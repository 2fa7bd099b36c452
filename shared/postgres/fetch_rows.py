"""Rows of a statement, each as a class that has its columns."""

from collections.abc import Mapping
from typing import Any, LiteralString, TypeVar

from psycopg import Connection
from psycopg.rows import class_row
from psycopg.sql import Composed

Row = TypeVar("Row")


def fetch_all(
    conn: Connection,
    kind: type[Row],
    statement: LiteralString | Composed,
    values: Mapping[str, Any] | None = None,
    *,
    binary: bool = False,
    prepare: bool | None = None,
) -> list[Row]:
    """Return every row of a statement."""
    with conn.cursor(row_factory=class_row(kind), binary=binary) as cur:
        return cur.execute(statement, values, prepare=prepare).fetchall()


def fetch_one(
    conn: Connection,
    kind: type[Row],
    statement: LiteralString,
    values: Mapping[str, Any] | None = None,
) -> Row | None:
    """Return the first row of a statement; None: it has none."""
    with conn.cursor(row_factory=class_row(kind)) as cur:
        return cur.execute(statement, values).fetchone()


def fetch_value(
    conn: Connection,
    statement: LiteralString | Composed,
    values: Mapping[str, Any] | None = None,
) -> Any | None:
    """Return the first column of the first row; None: there is no row."""
    row = conn.execute(statement, values).fetchone()
    return None if row is None else row[0]
