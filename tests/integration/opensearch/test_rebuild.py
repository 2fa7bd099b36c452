"""The index made anew under edits and deletions, killed, stopped, and lost midway."""

from typing import Any
from uuid import UUID

import pytest

from shared.entries.draft import EntryDraft
from shared.entries.saving.save import tombstone
from shared.ids import uuid7
from shared.messaging.stage_names import INDEX_STAGE, METADATA_STAGE
from shared.opensearch import (
    aliases,
    compare_index,
    day_buckets,
    documents,
    mapping,
    rebuild,
    tidy_indices,
)
from shared.opensearch.compare_index import Sides
from shared.work import chore_records
from shared.work.chore_records import REBUILD_INDEX, RECONCILE_INDEX
from tests.support import watched_chores
from tests.support.saving import save_drafts
from tests.support.watched_chores import Watched, due_now, finish_though_killed
from workers.tasks import chores
from workers.tasks.enhance import extract_metadata
from workers.tasks.index import index_entries

pytestmark = pytest.mark.timeout(240)
TENANT = "default"
PHASES = tuple(rebuild.PHASES)


class Rebuilding(Watched):
    kind, begins = REBUILD_INDEX, "create"


@pytest.fixture
def ctx(make_indexing_context) -> Watched:
    return make_indexing_context(Rebuilding)


@pytest.fixture
def save(committing):
    def save(*names: str, text: str = "RF trip", tenant: str = TENANT) -> list[UUID]:
        drafts = [EntryDraft("api", name, text) for name in names]
        with committing.transaction():
            return save_drafts(
                committing, drafts, stages=[METADATA_STAGE], tenant=tenant
            )

    return save


@pytest.fixture
def filled(ctx, save) -> list[UUID]:
    """Thirty entries of two facilities, one of them deleted, in the index."""
    ids = save(*(f"e{number}" for number in range(20)))
    ids += save(*(f"o{number}" for number in range(10)), tenant="other")
    work(ctx)
    return ids


def base_of(ctx: Watched) -> str:
    return ctx.settings.opensearch_index


def work(ctx: Watched) -> None:
    extract_metadata(ctx)
    index_entries(ctx)


def held(ctx: Watched, index: str) -> dict[str, int]:
    """Versions by id, of what is searchable now."""
    client = ctx.opensearch
    assert client is not None
    client.indices.refresh(index=index)
    body = {"size": 1000, "version": True, "_source": False}
    found = client.search(index=index, body=body)
    assert found["_shards"]["failed"] == 0
    return {hit["_id"]: hit["_version"] for hit in found["hits"]["hits"]}


def wanted(conn) -> dict[str, int]:
    epoch = documents.current_epoch(conn)
    found = conn.execute("SELECT id::text, doc_version FROM entry").fetchall()
    return {one: documents.version_of(epoch, version) for one, version in found}


def step(ctx: Watched, conn) -> None:
    due_now(conn)
    chores.rebuild_index(ctx)


def turn(ctx: Watched, conn) -> None:
    """Take a step, with the index worker at work beside it."""
    step(ctx, conn)
    work(ctx)


def finish(ctx: Watched, conn, chore: UUID) -> dict[str, Any]:
    return watched_chores.finish(conn, chore, lambda: turn(ctx, conn))


@pytest.mark.requirement("P6", "C47")
def test_an_index_is_made_anew_under_edits_and_deletions_and_holds_the_same(
    ctx, committing, save, filled, monkeypatch
):
    monkeypatch.setattr(rebuild, "STEP_ENTRIES", 7)
    read = mapping.read_alias(base_of(ctx))
    old = aliases.look(ctx.opensearch, base_of(ctx)).read
    gone: list[UUID] = []
    turn = iter(range(1000))

    def live(phase: str) -> None:
        number = next(turn)
        save(f"new{number}", text=f"quench {number}")
        save("e1", text=f"edited {number}")
        if number < 15:
            gone.append(filled[2 + number])
            with committing.transaction():
                tombstone(
                    committing, TENANT, gone[-1], reason=None, stages=[INDEX_STAGE]
                )
        if number % 3:
            work(ctx)
            if phase != "drop":
                # What is live is found through what is searched, old or new.
                assert held(ctx, read) == wanted(committing), phase
        else:
            assert held(ctx, read), phase

    ctx.at["before_step"] = live
    chore = rebuild.ask(committing)

    result = finish(ctx, committing, chore)

    assert set(ctx.done) >= set(PHASES) - {"read", "reading", "drain"}
    ctx.at.clear()
    work(ctx)
    found = aliases.look(ctx.opensearch, base_of(ctx))
    assert (found.read, found.bare) == (found.write, ())
    assert found.read != old
    assert found.read == result["index"]
    assert held(ctx, read) == wanted(committing)
    body = {"size": 100, "_source": False, "query": {"term": {"deleted": True}}}
    tombstones = ctx.opensearch.search(index=read, body=body)["hits"]["hits"]
    assert {hit["_id"] for hit in tombstones} == set(map(str, gone))
    settings = ctx.opensearch.indices.get_settings(index=read)[found.read]
    assert settings["settings"]["index"]["refresh_interval"] == "1s"


@pytest.mark.requirement("C47")
def test_killed_once_in_each_step_the_next_worker_goes_on(ctx, committing, filled):
    chore = rebuild.ask(committing)
    died = finish_though_killed(ctx, committing, chore, lambda: turn(ctx, committing))

    ended = chore_records.find(committing, chore)
    assert (ended.state, ended.done) == ("done", len(filled))
    assert died == set(PHASES) - {"read", "reading", "drain"}
    found = aliases.look(ctx.opensearch, base_of(ctx))
    assert (found.read, found.bare) == (found.write, ())
    assert held(ctx, str(found.read)) == wanted(committing)


@pytest.mark.requirement("C47")
@pytest.mark.parametrize("phase", ["wait", "copy", "compare", "swap"])
def test_stopped_in_a_step_the_old_index_stays_whole_and_nothing_is_left(
    ctx, committing, save, filled, phase
):
    before = aliases.look(ctx.opensearch, base_of(ctx)).read
    chore = rebuild.ask(committing)

    def stop(now: str) -> None:
        if now == phase:
            save("during", text="between the two")
            save("e3", text="edited between the two")
            work(ctx)
            chore_records.cancel(committing, chore)

    ctx.at["before_step"] = stop
    for _ in range(20):
        step(ctx, committing)
    assert chore_records.find(committing, chore).state == "cancelled"
    ctx.at.clear()

    tidy_indices.tidy(ctx.opensearch, base_of(ctx), ctx.pool)

    found = aliases.look(ctx.opensearch, base_of(ctx))
    if phase == "swap":
        # Its slow half was done before anybody could stop it: the new one is whole.
        assert found.read == found.write != before
    else:
        assert (found.read, found.write, found.bare) == (before, before, ())
    assert held(ctx, str(found.read)) == wanted(committing)
    # And another may begin.
    finish(ctx, committing, rebuild.ask(committing))
    assert held(ctx, mapping.read_alias(base_of(ctx))) == wanted(committing)
    assert aliases.look(ctx.opensearch, base_of(ctx)).bare == ()


def test_a_rebuild_in_hand_is_left_alone_by_upkeep(ctx, committing, filled):
    chore = rebuild.ask(committing)
    seen = []

    def tidy(phase: str) -> None:
        tidy_indices.tidy(ctx.opensearch, base_of(ctx), ctx.pool)
        seen.append(phase)

    ctx.at["before_step"] = tidy

    finish(ctx, committing, chore)

    assert "copy" in seen
    assert ctx.done.count("create") == 1


def test_what_is_put_in_its_place_is_what_began_again_after_a_loss(
    ctx, committing, filled
):
    lost: list[str] = []

    def lose(phase: str) -> None:
        if phase == "compare" and not lost:
            lost.append(str(aliases.look(ctx.opensearch, base_of(ctx)).write))
            ctx.opensearch.indices.delete(index=lost[0])

    ctx.at["before_step"] = lose

    finish(ctx, committing, rebuild.ask(committing))

    assert lost
    assert ctx.done.count("create") == 2
    assert held(ctx, mapping.read_alias(base_of(ctx))) == wanted(committing)


def test_with_the_old_index_lost_midway_searches_fail_until_the_new_one_is_whole(
    ctx, committing, filled
):
    """Never empty: half an index would say that there is nothing."""
    read = mapping.read_alias(base_of(ctx))
    missing: list[bool] = []

    def lose(phase: str) -> None:
        if phase == "copy" and not missing:
            ctx.opensearch.indices.delete(
                index=aliases.look(ctx.opensearch, base_of(ctx)).read
            )
        if missing or phase == "copy":
            missing.append(not ctx.opensearch.indices.exists_alias(name=read))

    ctx.at["before_step"] = lose

    finish(ctx, committing, rebuild.ask(committing))

    assert missing[0]
    assert not missing[-1]
    assert held(ctx, read) == wanted(committing)


def test_with_the_old_index_lost_and_the_rebuild_given_up_what_there_is_is_completed(
    ctx, committing, filled
):
    chore = rebuild.ask(committing)

    def lose(phase: str) -> None:
        if phase == "copy":
            old = aliases.look(ctx.opensearch, base_of(ctx)).read
            ctx.opensearch.indices.delete(index=old)
            chore_records.cancel(committing, chore)

    ctx.at["before_step"] = lose
    step(ctx, committing)
    assert chore_records.find(committing, chore).state == "cancelled"

    tidy_indices.tidy(ctx.opensearch, base_of(ctx), ctx.pool)
    chores.reconcile_index(ctx)
    work(ctx)

    found = aliases.look(ctx.opensearch, base_of(ctx))
    assert found.read == found.write
    assert held(ctx, str(found.read)) == wanted(committing)


def test_whoever_claimed_before_the_write_alias_moved_is_waited_for(
    ctx, committing, filled
):
    chore = rebuild.ask(committing)
    committing.execute(
        "INSERT INTO work (entry_id, stage, tenant, claim, claimed_at, leased_until)"
        " VALUES (%s, 'index', %s, uuidv7(), now(), now() + interval '1 h')",
        (filled[0], TENANT),
    )
    for _ in range(6):
        step(ctx, committing)
    assert chore_records.find(committing, chore).phase == "wait"
    assert chore_records.find(committing, chore).due_at > chore_records.read_clock(
        committing
    )

    # Its lease is over: whoever comes now looks at the aliases as they are.
    committing.execute("UPDATE work SET leased_until = now()")
    finish(ctx, committing, chore)

    assert ctx.done.count("wait") > 1


def test_what_was_missed_on_the_way_is_found_and_written_before_the_swap(
    ctx, committing, save, filled
):
    ghost = uuid7()

    def harm(phase: str) -> None:
        if phase != "settle":
            return
        missed = save("missed")
        extract_metadata(ctx)
        committing.execute("DELETE FROM work WHERE entry_id = ANY(%s)", (missed,))
        name = str(aliases.look(ctx.opensearch, base_of(ctx)).write)
        body = {"entry_id": str(ghost), "day": day_buckets.day_of(ghost), "check": 1}
        client = ctx.opensearch
        client.index(index=name, id=str(ghost), body=body, params={"refresh": "true"})

    ctx.at["before_step"] = harm

    result = finish(ctx, committing, rebuild.ask(committing))

    assert (result["rounds"], result["healed"]) == (1, 2)
    assert "drain" in ctx.done
    assert held(ctx, mapping.read_alias(base_of(ctx))) == wanted(committing)


def test_a_full_one_has_every_text_read_anew_first(ctx, committing, filled):
    committing.execute("UPDATE entry_text SET analyser_version = 0")
    chore = rebuild.ask(committing, full=True)
    finish(ctx, committing, chore)
    left = committing.execute(
        "SELECT count(*) FROM entry_text WHERE analyser_version = 0"
    ).fetchone()
    assert left == (0,)
    assert ctx.done[0] == "read"


def test_an_index_of_an_older_release_is_made_anew_by_itself_but_not_in_a_loop(
    ctx, committing
):
    body = mapping.make_index_body()
    body["aliases"] = {
        mapping.read_alias(base_of(ctx)): {},
        mapping.write_alias(base_of(ctx)): {},
    }
    ctx.opensearch.indices.create(index=f"{base_of(ctx)}-v1-17-abc", body=body)

    tidy_indices.tidy(ctx.opensearch, base_of(ctx), ctx.pool)

    chore = rebuild.find_unfinished_rebuild(committing)
    assert chore is not None
    chore_records.cancel(committing, chore)
    tidy_indices.tidy(ctx.opensearch, base_of(ctx), ctx.pool)
    assert rebuild.find_unfinished_rebuild(committing) is None


def test_days_that_are_equal_are_not_looked_into(ctx, committing, filled):
    base = base_of(ctx)
    sides = Sides(ctx.opensearch, mapping.read_alias(base), ctx.pool, 7)
    first = compare_index.look(sides, None)
    assert first.goes_on is not None
    assert (first.goes_on["days"], first.seen) == ([], len(filled))
    assert compare_index.look(sides, first.goes_on).goes_on is None

    committing.execute(
        "UPDATE entry SET doc_version = doc_version + 1 WHERE id = %s", (filled[3],)
    )
    second = compare_index.look(sides, None)
    assert second.goes_on is not None
    assert len(second.goes_on["days"]) == 1
    third = compare_index.look(sides, second.goes_on)
    assert [row.id for row in third.differ] == [filled[3]]


@pytest.mark.requirement("F36", "P6")
def test_what_an_older_backup_lacks_is_taken_out_in_steps_that_end_in_time(
    ctx, committing, filled, monkeypatch
):
    monkeypatch.setattr(compare_index, "STEP_ENTRIES", 4)
    alias = mapping.read_alias(base_of(ctx))
    # As restored from a backup of before these came, and before those behind them.
    ghosts = [uuid7() for _ in range(30)]
    for ghost in (*ghosts, *filled[:3]):
        committing.execute("DELETE FROM entry WHERE id = %s", (ghost,))
        days = {"day": day_buckets.day_of(ghost), "check": 1}
        document = {"entry_id": str(ghost), **days}
        ctx.opensearch.index(index=alias, id=str(ghost), body=document)
    sides = Sides(ctx.opensearch, alias, ctx.pool, 7)
    found = compare_index.look(sides, None)
    taken: list[UUID] = []
    while found.goes_on is not None:
        found = compare_index.look(sides, found.goes_on)
        assert len(found.extra) <= 8
        assert found.differ == ()
        taken += [one for one, _ in found.extra]
    assert sorted(taken) == sorted([*ghosts, *filled[:3]])


@pytest.mark.requirement("F17", "P6")
def test_what_comes_back_just_after_its_tombstone_left_is_in_the_index_at_once(
    ctx, committing, save, filled
):
    with committing.transaction():
        tombstone(committing, TENANT, filled[3], reason=None, stages=[INDEX_STAGE])
    work(ctx)
    committing.execute(
        "UPDATE entry SET modified_at = now() - interval '8 days'"
        " WHERE deleted_at IS NOT NULL"
    )
    alias = mapping.read_alias(base_of(ctx))
    chore_records.start_over(committing, RECONCILE_INDEX)
    chores.reconcile_index(ctx)
    assert str(filled[3]) not in held(ctx, alias)

    # Its source names it again: the version after that of the tombstone.
    assert save("e3", text="back again") == [filled[3]]
    work(ctx)

    assert held(ctx, alias) == wanted(committing)


@pytest.mark.requirement("F17", "P6")
@pytest.mark.parametrize(
    ("days", "is_kept"), [pytest.param(6.9, True), pytest.param(7.1, False)]
)
def test_a_tombstone_older_than_its_days_is_in_no_index_made_anew(
    ctx, committing, filled, days, is_kept
):
    with committing.transaction():
        tombstone(committing, TENANT, filled[3], reason=None, stages=[INDEX_STAGE])
    work(ctx)
    committing.execute(
        "UPDATE entry SET modified_at = now() - %s * interval '1 day'"
        " WHERE deleted_at IS NOT NULL",
        (days,),
    )
    alias = mapping.read_alias(base_of(ctx))
    assert str(filled[3]) in held(ctx, alias)

    result = finish(ctx, committing, rebuild.ask(committing))

    # Left out, not taken along and found to be too many.
    assert (result["rounds"], result["healed"]) == (0, 0)
    assert (str(filled[3]) in held(ctx, alias)) is is_kept
    assert len(held(ctx, alias)) == len(filled) - 1 + is_kept
