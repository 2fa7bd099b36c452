"""Tables in partitions by time, made ahead and dropped whole."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, LiteralString

from psycopg import Connection, sql

_EXISTING: LiteralString = """
    SELECT c.relname
      FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
     WHERE i.inhparent = %(table)s::regclass AND c.relname ~ %(named)s
     ORDER BY c.relname"""
# The database's clock: an upkeep whose clock runs ahead must not drop what is kept.
_NUMBER: LiteralString = """
    SELECT floor(extract(epoch FROM clock_timestamp()) / %(seconds)s)::bigint"""
_DEFAULT_HOLDS: LiteralString = """
    SELECT EXISTS (SELECT FROM {default} WHERE {column} >= %(low)s
                      AND {column} < %(high)s)"""
# What arrived before its partition was made lies in the default one.
_EXPIRE: LiteralString = "DELETE FROM {default} WHERE {column} < %(before)s"
# Where no row may be deleted, all go at once, when the last of them is old enough.
_HOLDS_OLD_ALONE: LiteralString = """
    SELECT coalesce(max({column}) < %(before)s, false) FROM {default}"""
_EMPTY: LiteralString = "TRUNCATE {default}"
_MAKE: LiteralString = "CREATE TABLE {} PARTITION OF {} FOR VALUES FROM ({}) TO ({})"


@dataclass(frozen=True, slots=True)
class PartitionedTable:
    """A table with partitions of equal length, numbered by their beginnings."""

    name: str
    prefix: str
    column: str
    seconds: int
    ahead: int
    # Returns the column's least value from so many seconds after 1970 on.
    first: Callable[[int], Any]
    # A trigger refuses to delete single rows.
    is_append_only: bool = False

    def rotate(self, conn: Connection, kept: int, number: int | None = None) -> int:
        """Make the next partitions, drop all but so many; return the oldest kept."""
        if number is None:
            ((number,),) = conn.execute(_NUMBER, {"seconds": self.seconds}).fetchall()
        listed = {"table": self.name, "named": f"^{self.prefix}[0-9]+$"}
        existing = {row[0] for row in conn.execute(_EXISTING, listed).fetchall()}
        for new in range(number, number + self.ahead):
            if f"{self.prefix}{new}" not in existing:
                self._make(conn, new)
        oldest = number - kept
        for name in sorted(existing):
            if int(name.removeprefix(self.prefix)) < oldest:
                conn.execute(sql.SQL("DROP TABLE {}").format(sql.Identifier(name)))
        self._expire_default(conn, {"before": self.bound(oldest)})
        return oldest

    def bound(self, number: int) -> Any:
        """Return the column's least value in a partition."""
        return self.first(number * self.seconds)

    def _make(self, conn: Connection, number: int) -> None:
        ends = {"low": self.bound(number), "high": self.bound(number + 1)}
        ((is_held,),) = conn.execute(self._of_default(_DEFAULT_HOLDS), ends).fetchall()
        if is_held:
            # Postgres refuses a partition whose rows lie in the default one. They are
            # dropped from there when their time is over.
            return
        names = (sql.Identifier(f"{self.prefix}{number}"), sql.Identifier(self.name))
        bounds = (sql.Literal(str(end)) for end in ends.values())
        conn.execute(sql.SQL(_MAKE).format(*names, *bounds))

    def _expire_default(self, conn: Connection, before: Mapping[str, Any]) -> None:
        if not self.is_append_only:
            conn.execute(self._of_default(_EXPIRE), before)
            return
        ((is_over,),) = conn.execute(self._of_default(_HOLDS_OLD_ALONE), before)
        if is_over:
            conn.execute(self._of_default(_EMPTY))

    def _of_default(self, statement: LiteralString) -> sql.Composed:
        return sql.SQL(statement).format(
            default=sql.Identifier(f"{self.name}_default"),
            column=sql.Identifier(self.column),
        )
