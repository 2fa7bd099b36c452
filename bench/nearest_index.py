"""The index of the nearest vectors: taken from a table, and built when it is full."""

from typing import LiteralString

from psycopg import Connection, sql

from shared.embedding.vectors import vector_tables

_DROP: LiteralString = "DROP INDEX {index}"


def drop(conn: Connection, table: str) -> None:
    """Take the index away, so that vectors are stored without it."""
    _run(conn, _DROP, table)


def build(conn: Connection, table: str) -> None:
    """Build the index over what is stored, however long that takes."""
    conn.execute("SET LOCAL statement_timeout = 0")
    _run(conn, vector_tables.CREATE_NEAREST, table)


def _run(conn: Connection, statement: LiteralString, table: str) -> None:
    named = {
        "table": sql.Identifier(table),
        "index": sql.Identifier(f"{table}_nearest"),
    }
    conn.execute(sql.SQL(statement).format(**named))
