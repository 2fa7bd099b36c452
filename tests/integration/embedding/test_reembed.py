"""Another model beside the one in use: filled, compared, switched to, and dropped."""

from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg import sql

from shared import errors
from shared.embedding.models.hashing_encoder import HashingEncoder
from shared.embedding.switch import reembed, switch_model
from shared.embedding.vectors import embed_entry, vector_tables
from shared.entries.draft import EntryDraft
from shared.entries.reading import read_entries
from shared.entries.saving.save import save_page, tombstone
from shared.messaging.stage_names import embed_stage
from shared.work import chore_records, due_work, quarantine
from shared.work.chore_records import REEMBED_MODEL
from shared.work.quarantine import Which
from shared.work.quarantine_budget import Budget
from tests.support import watched_chores
from tests.support.saving import save_drafts
from tests.support.watched_chores import Watched, due_now, finish_though_killed
from workers.tasks import chores
from workers.tasks.enhance import embed_entries

pytestmark = pytest.mark.timeout(240)
TENANT = "default"
OLD, NEW = "hashing-384", "hashing-128"
PHASES = tuple(reembed.PHASES)


class Reembedding(Watched):
    kind, begins = REEMBED_MODEL, PHASES[0]


@pytest.fixture
def ctx(make_context) -> Watched:
    return make_context(Reembedding, EMBEDDING_MODEL=OLD)


@pytest.fixture
def save(committing):
    def save(*names: str, text: str = "RF trip", tenant: str = TENANT) -> list[UUID]:
        drafts = [EntryDraft("api", name, text) for name in names]
        with committing.transaction():
            return save_drafts(
                committing, drafts, stages=[embed_stage(OLD)], tenant=tenant
            )

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
        if vector_tables.find_model(conn, model):
            embed_entries(ctx, model)


def ask(conn, *, activate: bool = True, **asked: Any) -> UUID:
    return reembed.ask(conn, NEW, batch=7, activate=activate, **asked)


def step(ctx: Watched, conn) -> None:
    due_now(conn)
    chores.reembed_model(ctx)


def turn(ctx: Watched, conn, models: tuple[str, ...] = (OLD, NEW)) -> None:
    """Take a step, with the worker that embeds beside it."""
    step(ctx, conn)
    work(ctx, conn, models)


def finish(
    ctx: Watched, conn, chore: UUID, models: tuple[str, ...] = (OLD, NEW)
) -> dict[str, Any]:
    return watched_chores.finish(conn, chore, lambda: turn(ctx, conn, models))


def held(conn, model: str) -> list[tuple[UUID, int, int]]:
    """Entry, revision and chunk of every vector."""
    table = vector_tables.find_model(conn, model)
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
    found = vector_tables.find_live_model(conn)
    assert found is not None
    return found.model


@pytest.mark.requirement("C47", "S0-36")
def test_a_model_is_filled_and_switched_to_under_edits_and_deletions(
    ctx, committing, save, filled
):
    turn = iter(range(1000))

    def change(_: str) -> None:
        number = next(turn)
        save(f"new{number}", text=f"quench {number}")
        save("e1", text=f"edited {number}")
        if number < 12:
            with committing.transaction():
                gone = [embed_stage(OLD)]
                tombstone(
                    committing, TENANT, filled[2 + number], reason=None, stages=gone
                )
        if number % 3:
            work(ctx, committing)
        assert live(committing) == OLD

    ctx.at["before_step"] = change

    result = finish(ctx, committing, ask(committing))

    assert list(dict.fromkeys(ctx.done)) == list(PHASES)
    assert (result["live"], result["missing"], result["put_aside"]) == (True, 0, 0)
    assert live(committing) == NEW
    work(ctx, committing)
    assert held(committing, NEW) == held(committing, OLD) == wanted(committing)


@pytest.mark.requirement("C47")
def test_killed_once_in_each_step_the_next_worker_goes_on(ctx, committing, filled):
    chore = ask(committing)
    died = finish_though_killed(ctx, committing, chore, lambda: turn(ctx, committing))

    assert died == set(PHASES)
    assert live(committing) == NEW
    assert held(committing, NEW) == held(committing, OLD) == wanted(committing)
    assert chore_records.find(committing, chore).done == len(filled)


def test_what_was_written_before_the_model_was_in_use_is_waited_for(
    ctx, committing, database, filled
):
    chore = ask(committing)
    late = psycopg.connect(database)
    late.execute("SELECT pg_current_xact_id()")
    for _ in range(4):
        step(ctx, committing)

    assert chore_records.find(committing, chore).phase == "wait"
    drafts = [EntryDraft("api", "late", "written long before its commit")]
    (saved,) = save_page(late, TENANT, drafts, stages=[], editor="test")
    late.commit()
    late.close()
    finish(ctx, committing, chore)
    assert saved.entry_id in {one for one, _, _ in held(committing, NEW)}


def test_without_being_asked_to_it_is_filled_and_not_switched_to(
    ctx, committing, filled
):
    result = finish(ctx, committing, ask(committing, activate=False))

    assert (result["live"], result["not_live"], live(committing)) == (False, None, OLD)
    assert held(committing, NEW) == held(committing, OLD)

    finish(ctx, committing, ask(committing))
    assert live(committing) == NEW


def test_a_model_that_is_gone_can_be_left(ctx, committing, filled, monkeypatch):
    known = ctx.encoder

    def encoder(model: str) -> Any:
        if model == OLD:
            raise errors.EmbeddingOutageError(
                technical="the server is gone", model_name=OLD
            )
        return known(model)

    monkeypatch.setattr(ctx, "encoder", encoder)
    finish(ctx, committing, ask(committing), models=(NEW,))

    assert live(committing) == NEW


def test_stopped_it_leaves_the_old_model_and_goes_on_where_it_was(
    ctx, committing, filled
):
    chore = ask(committing)

    def stop(phase: str) -> None:
        if phase == "drain":
            chore_records.cancel(committing, chore)

    ctx.at["before_step"] = stop
    for _ in range(4):
        step(ctx, committing)
    assert (chore_records.find(committing, chore).state, live(committing)) == (
        "cancelled",
        OLD,
    )
    work(ctx, committing)
    had = len(held(committing, NEW))
    assert had
    ctx.at.clear()

    finish(ctx, committing, ask(committing))

    assert live(committing) == NEW
    assert held(committing, NEW) == wanted(committing)


def test_one_that_lacks_an_entry_is_not_switched_to_unless_forced(
    ctx, committing, filled
):
    def put_aside(phase: str) -> None:
        if phase == "drain" and not quarantine.list_quarantined(
            committing, Which("*"), limit=1
        ):
            taken = due_work.claim(
                committing, embed_stage(NEW), limit=1, entry_ids=[filled[0]]
            )
            error = errors.EmbeddingGenerationError(retriable=False)
            assert quarantine.add(committing, taken[0], error, Budget(100, 1000))

    ctx.at["before_step"] = put_aside
    result = finish(ctx, committing, ask(committing))
    assert (result["live"], result["not_live"]) == (False, "incomplete")
    assert (result["missing"], result["put_aside"], live(committing)) == (1, 1, OLD)

    forced = finish(ctx, committing, ask(committing, force=True))
    assert (forced["live"], live(committing)) == (True, NEW)


def test_it_waits_until_whoever_searches_has_loaded_the_model(ctx, committing, filled):
    committing.execute(
        "INSERT INTO worker_process (id, kind, queues, pid, host, version, models)"
        " VALUES (gen_random_uuid(), 'search', '{search}', 1, 'h', '1', %s)",
        ([OLD],),
    )
    chore = ask(committing)
    for _ in range(12):
        step(ctx, committing)
        work(ctx, committing)
    assert (chore_records.find(committing, chore).phase, live(committing)) == (
        "warm",
        OLD,
    )
    assert [one.warm for one in vector_tables.list_models(committing)] == [True, True]

    committing.execute("UPDATE worker_process SET models = %s", ([OLD, NEW],))
    finish(ctx, committing, chore)
    assert live(committing) == NEW


def test_a_model_is_dropped_with_its_work_once_nobody_reads_it(
    ctx, committing, save, filled
):
    finish(ctx, committing, ask(committing))
    with pytest.raises(errors.InvalidRequestError, match="activate another"):
        switch_model.drop(committing, NEW)
    with pytest.raises(errors.ConflictError, match="may still read"):
        switch_model.drop(committing, OLD)
    (entry_id,) = save("e3", text="edited last")
    content = read_entries.load_contents(committing, TENANT, [entry_id])[entry_id]
    found = embed_entry.embed(content, HashingEncoder())

    with committing.transaction():
        switch_model.drop(committing, OLD, drain_seconds=0.0)

    assert [one.model for one in vector_tables.list_models(committing)] == [NEW]
    due = committing.execute("SELECT DISTINCT stage FROM work").fetchall()
    assert due == [(embed_stage(NEW),)]
    # Who was at it just then finds no table, and stores nothing.
    assert found.chunks
    assert vector_tables.hold(committing, OLD) is None
    # A nudge for it is passed on, and does not bring the table back.
    embed_entries(ctx, OLD, (entry_id,))
    assert vector_tables.find_model(committing, OLD) is None
    save("after", text="only for the new one")
    embed_entries(ctx, NEW)
    assert held(committing, NEW) == wanted(committing)
    with pytest.raises(errors.NotFoundError):
        switch_model.drop(committing, OLD)


def test_two_are_not_filled_at_once(ctx, committing, filled):
    chore = ask(committing)
    with pytest.raises(errors.ConflictError) as told:
        reembed.ask(committing, "hashing-64")
    assert told.value.details == {"maintenance_id": str(chore)}
    vector_tables.ensure_table(committing, "test", NEW, 128)
    with pytest.raises(errors.ConflictError, match="stop that first"):
        switch_model.drop(committing, NEW)
