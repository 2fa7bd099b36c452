"""Another model beside the one in use: filled, compared, switched to, and dropped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg import sql

from shared.broker import embed_stage, make_app
from shared.due import maintenance, quarantine, rows
from shared.due.outcomes import Budget
from shared.due.quarantine import Which
from shared.embedding import asking, of_entry, reembed, switching, tables
from shared.embedding.encoders import HashingEncoder
from shared.entries import reading
from shared.entries.draft import EntryDraft
from shared.entries.entry import save_page, tombstone
from shared.errors import (
    ConflictError,
    EmbeddingGenerationError,
    EmbeddingOutageError,
    InvalidRequestError,
    NotFoundError,
)
from shared.postgres import connection
from shared.settings import Settings
from workers import chores
from workers.context import Context, Resources
from workers.enhance import embed_entries

pytestmark = pytest.mark.timeout(240)
TENANT = "default"
OLD, NEW = "hashing-384", "hashing-128"
PHASES = tuple(reembed.phases())


class Watched(Context):
    """Does what the test asks for before each step, and before its commit."""

    def __init__(self, given: dict[str, str]) -> None:
        settings = Settings.load(given)
        super().__init__(Resources(settings, make_app(settings), "test"), {})
        self.at: dict[str, Callable[[str], object]] = {}
        self.done: list[str] = []
        self.chore: UUID | None = None

    def checkpoint(self, name: str, *ids: UUID) -> None:
        if ids != (self.chore,) or name not in {"before_step", "before_commit"}:
            return
        with connection(self.pool) as conn:
            phase = str(maintenance.find(conn, ids[0]).phase)
        if name == "before_step":
            self.done.append(phase)
        if name in self.at:
            self.at[name](phase)


@pytest.fixture
def ctx(database, valkey) -> Iterator[Watched]:
    made = Watched(
        {"DATABASE_URL": database, "BROKER_URL": valkey.url, "EMBEDDING_MODEL": OLD}
    )
    yield made
    made._resources.close()


@pytest.fixture
def admin(database):
    with psycopg.connect(database, autocommit=True) as conn:
        yield conn


@pytest.fixture
def save(admin):
    def save(*names: str, text: str = "RF trip", tenant: str = TENANT) -> list[UUID]:
        drafts = [EntryDraft("api", name, text) for name in names]
        stages = [embed_stage(OLD)]
        with admin.transaction():
            found = save_page(admin, tenant, drafts, stages=stages, editor="test")
        return [one.entry_id for one in found]

    return save


@pytest.fixture
def filled(ctx, save) -> list[UUID]:
    """Thirty entries of two facilities, one of them blank, embedded with the old."""
    ids = save(*(f"e{number}" for number in range(19)))
    ids += save("blank", text=" ")
    ids += save(*(f"o{number}" for number in range(10)), tenant="other")
    embed_entries(ctx, OLD)
    return ids


def work(ctx: Watched, conn, models: tuple[str, ...] = (OLD, NEW)) -> None:
    for model in models:
        if tables.registered(conn, model):
            embed_entries(ctx, model)


def ask(ctx: Watched, conn, *, activate: bool = True, **asked: Any) -> UUID:
    ctx.chore = asking.ask(conn, NEW, batch=7, activate=activate, **asked)
    return ctx.chore


def step(ctx: Watched, conn) -> None:
    conn.execute(
        "UPDATE maintenance SET leased_until = NULL, due_at = now()"
        " WHERE ended_at IS NULL"
    )
    chores.reembed_model(ctx)


def finish(
    ctx: Watched,
    conn,
    chore: UUID,
    *,
    steps: int = 60,
    models: tuple[str, ...] = (OLD, NEW),
) -> dict[str, Any]:
    """Go on until the chore has ended, with the worker that embeds beside it."""
    for _ in range(steps):
        step(ctx, conn)
        found = maintenance.find(conn, chore)
        if found.ended_at is not None:
            assert (found.state, found.error) == ("done", None)
            assert found.result is not None
            return found.result
        work(ctx, conn, models)
    raise AssertionError(maintenance.find(conn, chore))


def held(conn, model: str) -> list[tuple[UUID, int, int]]:
    """Entry, revision and chunk of every vector."""
    table = tables.registered(conn, model)
    assert table is not None
    query = sql.SQL("SELECT entry_id, revision, chunk FROM {} ORDER BY 1, 3")
    return conn.execute(query.format(sql.Identifier(table.table_name))).fetchall()


def wanted(conn) -> list[tuple[UUID, int, int]]:
    return conn.execute(
        "SELECT e.id, e.revision, 0 FROM entry e"
        " JOIN revision r ON r.entry_id = e.id AND r.number = e.revision"
        " WHERE e.deleted_at IS NULL AND r.text <> ' ' ORDER BY 1"
    ).fetchall()


def live(conn) -> str:
    found = tables.live(conn)
    assert found is not None
    return found.model


@pytest.mark.requirement("C47", "S0-36")
def test_a_model_is_filled_and_switched_to_under_edits_and_deletions(
    ctx, admin, save, filled
):
    turn = iter(range(1000))

    def change(_: str) -> None:
        number = next(turn)
        save(f"new{number}", text=f"quench {number}")
        save("e1", text=f"edited {number}")
        if number < 12:
            with admin.transaction():
                gone = [embed_stage(OLD)]
                tombstone(admin, TENANT, filled[2 + number], reason=None, stages=gone)
        if number % 3:
            work(ctx, admin)
        assert live(admin) == OLD

    ctx.at["before_step"] = change

    result = finish(ctx, admin, ask(ctx, admin))

    assert list(dict.fromkeys(ctx.done)) == list(PHASES)
    assert (result["live"], result["missing"], result["put_aside"]) == (True, 0, 0)
    assert live(admin) == NEW
    work(ctx, admin)
    assert held(admin, NEW) == held(admin, OLD) == wanted(admin)


@pytest.mark.requirement("C47")
def test_killed_once_in_each_step_the_next_worker_goes_on(ctx, admin, filled):
    died: set[str] = set()

    def die(phase: str) -> None:
        if phase not in died:
            died.add(phase)
            raise KeyboardInterrupt(phase)

    ctx.at["before_commit"] = die
    chore = ask(ctx, admin)
    for _ in range(40):
        try:
            finish(ctx, admin, chore)
            break
        except KeyboardInterrupt:
            continue

    assert died == set(PHASES)
    assert live(admin) == NEW
    assert held(admin, NEW) == held(admin, OLD) == wanted(admin)
    assert maintenance.find(admin, chore).done == len(filled)


def test_what_was_written_before_the_model_was_in_use_is_waited_for(
    ctx, admin, database, filled
):
    chore = ask(ctx, admin)
    late = psycopg.connect(database)
    late.execute("SELECT pg_current_xact_id()")
    for _ in range(4):
        step(ctx, admin)

    assert maintenance.find(admin, chore).phase == "wait"
    drafts = [EntryDraft("api", "late", "written long before its commit")]
    (saved,) = save_page(late, TENANT, drafts, stages=[], editor="test")
    late.commit()
    late.close()
    finish(ctx, admin, chore)
    assert saved.entry_id in {one for one, _, _ in held(admin, NEW)}


def test_without_being_asked_to_it_is_filled_and_compared_and_not_switched_to(
    ctx, admin, filled
):
    result = finish(ctx, admin, ask(ctx, admin, activate=False))

    assert (result["live"], result["not_live"], live(admin)) == (False, None, OLD)
    compared = result["compared"]
    assert compared["queries"] > 0
    assert 0.0 <= compared["overlap_at_10"] <= 1.0
    assert set(compared["latency_ms"]) == {OLD, NEW}
    assert held(admin, NEW) == held(admin, OLD)

    finish(ctx, admin, ask(ctx, admin))
    assert live(admin) == NEW


def test_a_model_that_is_gone_can_be_left(ctx, admin, filled, monkeypatch):
    known = ctx.encoder

    def encoder(model: str) -> Any:
        if model == OLD:
            raise EmbeddingOutageError(technical="the server is gone", model_name=OLD)
        return known(model)

    monkeypatch.setattr(ctx, "encoder", encoder)
    result = finish(ctx, admin, ask(ctx, admin), models=(NEW,))

    assert (result["compared"], live(admin)) == (None, NEW)


def test_what_was_asked_of_late_is_what_both_models_are_compared_with(
    ctx, admin, filled
):
    admin.execute(
        "INSERT INTO job (id, tenant, subject, state, request, plan, deadline_at)"
        " SELECT gen_random_uuid(), 'default', 'ops', 'done',"
        "        jsonb_build_object('query', 'trip ' || n), '{}', now()"
        "   FROM generate_series(1, 60) AS s (n)"
    )

    result = finish(ctx, admin, ask(ctx, admin, activate=False))

    assert result["compared"]["queries"] == 50


def test_stopped_it_leaves_the_old_model_and_goes_on_where_it_was(ctx, admin, filled):
    chore = ask(ctx, admin)

    def stop(phase: str) -> None:
        if phase == "drain":
            maintenance.cancel(admin, chore)

    ctx.at["before_step"] = stop
    for _ in range(4):
        step(ctx, admin)
    assert (maintenance.find(admin, chore).state, live(admin)) == ("cancelled", OLD)
    work(ctx, admin)
    had = len(held(admin, NEW))
    assert had
    ctx.at.clear()

    finish(ctx, admin, ask(ctx, admin))

    assert live(admin) == NEW
    assert held(admin, NEW) == wanted(admin)


def test_one_that_lacks_an_entry_is_not_switched_to_unless_forced(ctx, admin, filled):
    def put_aside(phase: str) -> None:
        if phase == "drain" and not quarantine.listing(admin, Which("*"), limit=1):
            taken = rows.claim(admin, embed_stage(NEW), limit=1, entry_ids=[filled[0]])
            error = EmbeddingGenerationError(retriable=False)
            assert quarantine.put_aside(admin, taken[0], error, Budget(100, 1000))

    ctx.at["before_step"] = put_aside
    result = finish(ctx, admin, ask(ctx, admin))
    assert (result["live"], result["not_live"]) == (False, "incomplete")
    assert (result["missing"], result["put_aside"], live(admin)) == (1, 1, OLD)

    forced = finish(ctx, admin, ask(ctx, admin, force=True))
    assert (forced["live"], live(admin)) == (True, NEW)


def test_it_waits_until_whoever_searches_has_loaded_the_model(ctx, admin, filled):
    admin.execute(
        "INSERT INTO worker_process (id, kind, queues, pid, host, version, models)"
        " VALUES (gen_random_uuid(), 'search', '{search}', 1, 'h', '1', %s)",
        ([OLD],),
    )
    chore = ask(ctx, admin)
    for _ in range(12):
        step(ctx, admin)
        work(ctx, admin)
    assert (maintenance.find(admin, chore).phase, live(admin)) == ("warm", OLD)
    assert [one.warm for one in tables.known(admin)] == [True, True]

    admin.execute("UPDATE worker_process SET models = %s", ([OLD, NEW],))
    finish(ctx, admin, chore)
    assert live(admin) == NEW


def test_a_model_is_dropped_with_its_work_once_nobody_reads_it(
    ctx, admin, save, filled
):
    finish(ctx, admin, ask(ctx, admin))
    with pytest.raises(InvalidRequestError, match="activate another"):
        switching.drop(admin, NEW)
    with pytest.raises(ConflictError, match="may still read"):
        switching.drop(admin, OLD)
    (entry_id,) = save("e3", text="edited last")
    content = reading.contents(admin, TENANT, [entry_id])[entry_id]
    found = of_entry.embed(content, HashingEncoder())

    with admin.transaction():
        switching.drop(admin, OLD, drain_seconds=0.0)

    assert [one.model for one in tables.known(admin)] == [NEW]
    due = admin.execute("SELECT DISTINCT stage FROM work").fetchall()
    assert due == [(embed_stage(NEW),)]
    # Who was at it just then finds no table, and stores nothing.
    assert found.chunks
    assert tables.hold(admin, OLD) is None
    # A nudge for it is passed on, and does not bring the table back.
    embed_entries(ctx, OLD, (entry_id,))
    assert tables.registered(admin, OLD) is None
    save("after", text="only for the new one")
    embed_entries(ctx, NEW)
    assert held(admin, NEW) == wanted(admin)
    with pytest.raises(NotFoundError):
        switching.drop(admin, OLD)


def test_two_are_not_filled_at_once(ctx, admin, filled):
    chore = ask(ctx, admin)
    with pytest.raises(ConflictError) as told:
        asking.ask(admin, "hashing-64")
    assert told.value.details == {"maintenance_id": str(chore)}
    tables.ensure_table(admin, "test", NEW, 128)
    with pytest.raises(ConflictError, match="stop that first"):
        switching.drop(admin, NEW)
