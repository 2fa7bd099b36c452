"""The index made anew under edits and deletions, killed, stopped, and lost midway."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import psycopg
import pytest

from shared.broker import INDEX_STAGE, METADATA_STAGE, make_app
from shared.due import maintenance
from shared.due.maintenance import REBUILD_INDEX, RECONCILE_INDEX
from shared.entries.draft import EntryDraft
from shared.entries.entry import save_page, tombstone
from shared.opensearch import (
    aliases,
    asking,
    buckets,
    compare,
    documents,
    mapping,
    rebuild,
    tidying,
)
from shared.opensearch.compare import Sides
from shared.postgres import connection
from shared.settings import Settings
from shared.uuid7 import uuid7
from workers import chores
from workers.context import Context, Resources
from workers.enhance import extract_metadata
from workers.index import index_entries

pytestmark = pytest.mark.timeout(240)
TENANT = "default"
PHASES = tuple(rebuild.phases())


class Watched(Context):
    """Does what the test asks for before each step, and before its commit."""

    def __init__(self, given: dict[str, str]) -> None:
        settings = Settings.load(given)
        super().__init__(Resources(settings, make_app(settings), "test"), {})
        self.at: dict[str, Callable[[str], object]] = {}
        self.done: list[str] = []

    def checkpoint(self, name: str, *ids: UUID) -> None:
        if name not in {"before_step", "before_commit"} or len(ids) != 1:
            return
        with connection(self.pool) as conn:
            found = [
                one for one in maintenance.unfinished(conn) if one.kind == REBUILD_INDEX
            ]
        # A document of its own reaches the same line of the index stage.
        if found and found[0].id == ids[0]:
            phase = found[0].phase or "create"
            if name == "before_step":
                self.done.append(phase)
            if name in self.at:
                self.at[name](phase)


@pytest.fixture
def ctx(database, valkey, opensearch) -> Iterator[Watched]:
    made = Watched(
        {
            "DATABASE_URL": database,
            "BROKER_URL": valkey.url,
            "OPENSEARCH_URL": opensearch.url,
            "OPENSEARCH_INDEX": f"test_{secrets.token_hex(6)}",
            "EMBEDDING_MODEL": "hashing-384",
        }
    )
    yield made
    made.opensearch.indices.delete(  # type: ignore[union-attr]
        index=f"{made.settings.opensearch_index}-v*", params={"request_timeout": 30}
    )
    made._resources.close()


@pytest.fixture
def admin(database):
    with psycopg.connect(database, autocommit=True) as conn:
        yield conn


@pytest.fixture
def save(admin):
    def save(*names: str, text: str = "RF trip", tenant: str = TENANT) -> list[UUID]:
        drafts = [EntryDraft("api", name, text) for name in names]
        with admin.transaction():
            found = save_page(
                admin, tenant, drafts, stages=[METADATA_STAGE], editor="test"
            )
        return [one.entry_id for one in found]

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
    conn.execute(
        "UPDATE maintenance SET leased_until = NULL, due_at = now()"
        " WHERE ended_at IS NULL"
    )
    chores.rebuild_index(ctx)


def finish(ctx: Watched, conn, chore: UUID, *, steps: int = 60) -> dict[str, Any]:
    """Go on until the chore has ended, with the index worker at work beside it."""
    for _ in range(steps):
        step(ctx, conn)
        work(ctx)
        found = maintenance.find(conn, chore)
        if found.ended_at is not None:
            assert (found.state, found.error) == ("done", None)
            assert found.result is not None
            return found.result
    raise AssertionError(maintenance.find(conn, chore))


@pytest.mark.requirement("P6", "C47")
def test_an_index_is_made_anew_under_edits_and_deletions_and_holds_the_same(
    ctx, admin, save, filled, monkeypatch
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
            with admin.transaction():
                tombstone(admin, TENANT, gone[-1], reason=None, stages=[INDEX_STAGE])
        if number % 3:
            work(ctx)
            if phase != "drop":
                # What is live is found through what is searched, old or new.
                assert held(ctx, read) == wanted(admin), phase
        else:
            assert held(ctx, read), phase

    ctx.at["before_step"] = live
    chore = asking.ask(admin)

    result = finish(ctx, admin, chore)

    assert set(ctx.done) >= set(PHASES) - {"read", "reading", "drain"}
    ctx.at.clear()
    work(ctx)
    found = aliases.look(ctx.opensearch, base_of(ctx))
    assert (found.read, found.bare) == (found.write, ())
    assert found.read != old
    assert found.read == result["index"]
    assert held(ctx, read) == wanted(admin)
    body = {"size": 100, "_source": False, "query": {"term": {"deleted": True}}}
    tombstones = ctx.opensearch.search(index=read, body=body)["hits"]["hits"]
    assert {hit["_id"] for hit in tombstones} == set(map(str, gone))
    settings = ctx.opensearch.indices.get_settings(index=read)[found.read]
    assert settings["settings"]["index"]["refresh_interval"] == "1s"


@pytest.mark.requirement("C47")
def test_killed_once_in_each_step_the_next_worker_goes_on(ctx, admin, filled):
    died: set[str] = set()

    def die(phase: str) -> None:
        if phase not in died:
            died.add(phase)
            raise KeyboardInterrupt(phase)

    ctx.at["before_commit"] = die
    chore = asking.ask(admin)
    for _ in range(40):
        try:
            finish(ctx, admin, chore)
            break
        except KeyboardInterrupt:
            continue

    ended = maintenance.find(admin, chore)
    assert (ended.state, ended.done) == ("done", len(filled))
    assert died == set(PHASES) - {"read", "reading", "drain"}
    found = aliases.look(ctx.opensearch, base_of(ctx))
    assert (found.read, found.bare) == (found.write, ())
    assert held(ctx, str(found.read)) == wanted(admin)


@pytest.mark.requirement("C47")
@pytest.mark.parametrize("phase", ["wait", "copy", "compare", "swap"])
def test_stopped_in_a_step_the_old_index_stays_whole_and_nothing_is_left(
    ctx, admin, save, filled, phase
):
    before = aliases.look(ctx.opensearch, base_of(ctx)).read
    chore = asking.ask(admin)

    def stop(now: str) -> None:
        if now == phase:
            save("during", text="between the two")
            save("e3", text="edited between the two")
            work(ctx)
            maintenance.cancel(admin, chore)

    ctx.at["before_step"] = stop
    for _ in range(20):
        step(ctx, admin)
    assert maintenance.find(admin, chore).state == "cancelled"
    ctx.at.clear()

    tidying.tidy(ctx.opensearch, base_of(ctx), ctx.pool)

    found = aliases.look(ctx.opensearch, base_of(ctx))
    if phase == "swap":
        # Its slow half was done before anybody could stop it: the new one is whole.
        assert found.read == found.write != before
    else:
        assert (found.read, found.write, found.bare) == (before, before, ())
    assert held(ctx, str(found.read)) == wanted(admin)
    # And another may begin.
    finish(ctx, admin, asking.ask(admin))
    assert held(ctx, mapping.read_alias(base_of(ctx))) == wanted(admin)
    assert aliases.look(ctx.opensearch, base_of(ctx)).bare == ()


def test_a_rebuild_in_hand_is_left_alone_by_upkeep(ctx, admin, filled):
    chore = asking.ask(admin)
    seen = []

    def tidy(phase: str) -> None:
        tidying.tidy(ctx.opensearch, base_of(ctx), ctx.pool)
        seen.append(phase)

    ctx.at["before_step"] = tidy

    finish(ctx, admin, chore)

    assert "copy" in seen
    assert ctx.done.count("create") == 1


def test_what_is_put_in_its_place_is_what_began_again_after_a_loss(ctx, admin, filled):
    lost: list[str] = []

    def lose(phase: str) -> None:
        if phase == "compare" and not lost:
            lost.append(str(aliases.look(ctx.opensearch, base_of(ctx)).write))
            ctx.opensearch.indices.delete(index=lost[0])

    ctx.at["before_step"] = lose

    finish(ctx, admin, asking.ask(admin))

    assert lost
    assert ctx.done.count("create") == 2
    assert held(ctx, mapping.read_alias(base_of(ctx))) == wanted(admin)


def test_with_the_old_index_lost_midway_searches_fail_until_the_new_one_is_whole(
    ctx, admin, filled
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

    finish(ctx, admin, asking.ask(admin))

    assert missing[0]
    assert not missing[-1]
    assert held(ctx, read) == wanted(admin)


def test_with_the_old_index_lost_and_the_rebuild_given_up_what_there_is_is_completed(
    ctx, admin, filled
):
    chore = asking.ask(admin)

    def lose(phase: str) -> None:
        if phase == "copy":
            old = aliases.look(ctx.opensearch, base_of(ctx)).read
            ctx.opensearch.indices.delete(index=old)
            maintenance.cancel(admin, chore)

    ctx.at["before_step"] = lose
    step(ctx, admin)
    assert maintenance.find(admin, chore).state == "cancelled"

    tidying.tidy(ctx.opensearch, base_of(ctx), ctx.pool)
    chores.reconcile_index(ctx)
    work(ctx)

    found = aliases.look(ctx.opensearch, base_of(ctx))
    assert found.read == found.write
    assert held(ctx, str(found.read)) == wanted(admin)


def test_whoever_claimed_before_the_write_alias_moved_is_waited_for(ctx, admin, filled):
    chore = asking.ask(admin)
    admin.execute(
        "INSERT INTO work (entry_id, stage, tenant, claim, claimed_at, leased_until)"
        " VALUES (%s, 'index', %s, uuidv7(), now(), now() + interval '1 h')",
        (filled[0], TENANT),
    )
    for _ in range(6):
        step(ctx, admin)
    assert maintenance.find(admin, chore).phase == "wait"
    assert maintenance.find(admin, chore).due_at > maintenance.now(admin)

    # Its lease is over: whoever comes now looks at the aliases as they are.
    admin.execute("UPDATE work SET leased_until = now()")
    finish(ctx, admin, chore)

    assert ctx.done.count("wait") > 1


def test_what_was_missed_on_the_way_is_found_and_written_before_the_swap(
    ctx, admin, save, filled
):
    ghost = uuid7()

    def harm(phase: str) -> None:
        if phase != "settle":
            return
        missed = save("missed")
        extract_metadata(ctx)
        admin.execute("DELETE FROM work WHERE entry_id = ANY(%s)", (missed,))
        name = str(aliases.look(ctx.opensearch, base_of(ctx)).write)
        body = {"entry_id": str(ghost), "day": buckets.day_of(ghost), "check": 1}
        client = ctx.opensearch
        client.index(index=name, id=str(ghost), body=body, params={"refresh": "true"})

    ctx.at["before_step"] = harm

    result = finish(ctx, admin, asking.ask(admin))

    assert (result["rounds"], result["healed"]) == (1, 2)
    assert "drain" in ctx.done
    assert held(ctx, mapping.read_alias(base_of(ctx))) == wanted(admin)


def test_a_full_one_has_every_text_read_anew_first(ctx, admin, filled):
    admin.execute("UPDATE entry_text SET analyser_version = 0")
    chore = asking.ask(admin, full=True)
    finish(ctx, admin, chore)
    left = admin.execute(
        "SELECT count(*) FROM entry_text WHERE analyser_version = 0"
    ).fetchone()
    assert left == (0,)
    assert ctx.done[0] == "read"


def test_an_index_of_an_older_release_is_made_anew_by_itself_but_not_in_a_loop(
    ctx, admin
):
    body = mapping.body()
    body["aliases"] = {
        mapping.read_alias(base_of(ctx)): {},
        mapping.write_alias(base_of(ctx)): {},
    }
    ctx.opensearch.indices.create(index=f"{base_of(ctx)}-v1-17-abc", body=body)

    tidying.tidy(ctx.opensearch, base_of(ctx), ctx.pool)

    chore = asking.under_way(admin)
    assert chore is not None
    maintenance.cancel(admin, chore)
    tidying.tidy(ctx.opensearch, base_of(ctx), ctx.pool)
    assert asking.under_way(admin) is None


def test_days_that_are_equal_are_not_looked_into(ctx, admin, filled):
    base = base_of(ctx)
    sides = Sides(ctx.opensearch, mapping.read_alias(base), ctx.pool, 7)
    first = compare.look(sides, None)
    assert first.goes_on is not None
    assert (first.goes_on["days"], first.seen) == ([], len(filled))
    assert compare.look(sides, first.goes_on).goes_on is None

    admin.execute(
        "UPDATE entry SET doc_version = doc_version + 1 WHERE id = %s", (filled[3],)
    )
    second = compare.look(sides, None)
    assert second.goes_on is not None
    assert len(second.goes_on["days"]) == 1
    third = compare.look(sides, second.goes_on)
    assert [row.id for row in third.differ] == [filled[3]]


@pytest.mark.requirement("F17", "P6")
def test_what_comes_back_just_after_its_tombstone_left_is_in_the_index_at_once(
    ctx, admin, save, filled
):
    with admin.transaction():
        tombstone(admin, TENANT, filled[3], reason=None, stages=[INDEX_STAGE])
    work(ctx)
    admin.execute(
        "UPDATE entry SET modified_at = now() - interval '8 days'"
        " WHERE deleted_at IS NOT NULL"
    )
    alias = mapping.read_alias(base_of(ctx))
    maintenance.start_over(admin, RECONCILE_INDEX)
    chores.reconcile_index(ctx)
    assert str(filled[3]) not in held(ctx, alias)

    # Its source names it again: the version after that of the tombstone.
    assert save("e3", text="back again") == [filled[3]]
    work(ctx)

    assert held(ctx, alias) == wanted(admin)


@pytest.mark.requirement("F17", "P6")
@pytest.mark.parametrize(
    ("days", "is_kept"), [pytest.param(6.9, True), pytest.param(7.1, False)]
)
def test_a_tombstone_older_than_its_days_is_in_no_index_made_anew(
    ctx, admin, filled, days, is_kept
):
    with admin.transaction():
        tombstone(admin, TENANT, filled[3], reason=None, stages=[INDEX_STAGE])
    work(ctx)
    admin.execute(
        "UPDATE entry SET modified_at = now() - %s * interval '1 day'"
        " WHERE deleted_at IS NOT NULL",
        (days,),
    )
    alias = mapping.read_alias(base_of(ctx))
    assert str(filled[3]) in held(ctx, alias)

    result = finish(ctx, admin, asking.ask(admin))

    # Left out, not taken along and found to be too many.
    assert (result["rounds"], result["healed"]) == (0, 0)
    assert (str(filled[3]) in held(ctx, alias)) is is_kept
    assert len(held(ctx, alias)) == len(filled) - 1 + is_kept
