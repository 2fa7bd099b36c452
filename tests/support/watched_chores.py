"""A long chore taken step by step, with whatever a test does in between."""

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from psycopg import Connection

from shared.postgres.pool import connection
from shared.work import chore_records
from workers.runtime.context import Context, Resources


class Watched(Context):
    """Does what the test asks for before each step, and before its commit.

    Of one kind of chore, which begins with a phase of that name.
    """

    kind: str
    begins: str

    def __init__(self, resources: Resources, headers: Mapping[str, Any]) -> None:
        super().__init__(resources, headers)
        self.at: dict[str, Callable[[str], object]] = {}
        self.done: list[str] = []

    def checkpoint(self, name: str, *ids: UUID) -> None:
        if name not in {"before_step", "before_commit"} or len(ids) != 1:
            return
        with connection(self.pool) as conn:
            found = [
                one
                for one in chore_records.list_unfinished(conn)
                if one.kind == self.kind
            ]
        # An entry of its own reaches the same line of a stage.
        if found and found[0].id == ids[0]:
            phase = found[0].phase or self.begins
            if name == "before_step":
                self.done.append(phase)
            if name in self.at:
                self.at[name](phase)


def due_now(conn: Connection) -> None:
    """Let the next worker take what is under way, whoever had it."""
    conn.execute(
        "UPDATE maintenance SET leased_until = NULL, due_at = now()"
        " WHERE ended_at IS NULL"
    )


def finish(
    conn: Connection, chore: UUID, turn: Callable[[], object], *, turns: int = 60
) -> dict[str, Any]:
    """Take turns until the chore has ended well, and return its result."""
    for _ in range(turns):
        turn()
        found = chore_records.find(conn, chore)
        if found.ended_at is not None:
            assert (found.state, found.error) == ("done", None), found
            assert found.result is not None
            return found.result
    raise AssertionError(chore_records.find(conn, chore))


def finish_though_killed(
    ctx: Watched, conn: Connection, chore: UUID, turn: Callable[[], object]
) -> set[str]:
    """Die once in each phase just before its commit; return these phases."""
    died: set[str] = set()

    def die(phase: str) -> None:
        if phase not in died:
            died.add(phase)
            raise KeyboardInterrupt(phase)

    ctx.at["before_commit"] = die
    for _ in range(40):
        try:
            finish(conn, chore, turn)
            break
        except KeyboardInterrupt:
            continue
    return died
