"""Chores: chains of short steps, resumed where the last one was committed."""

import multiprocessing
import os
import signal
from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

import pytest

from shared.entries.draft import EntryDraft
from shared.entries.saving.save import tombstone
from shared.errors import OpenSearchError
from shared.ids import uuid7
from shared.messaging.celery_app import make_app
from shared.messaging.stage_names import INDEX_STAGE, METADATA_STAGE
from shared.opensearch import (
    aliases,
    compare_index,
    day_buckets,
    documents,
    fill_index,
    mapping,
    tidy_indices,
)
from shared.search.retrieval import score_scale
from shared.settings.settings import Settings
from shared.work import batches, chore_records, expiry
from shared.work.chore_records import EXPIRE, RECONCILE_INDEX, Progress
from tests.support.saving import save_drafts, save_many
from workers.runtime.context import Context, Resources
from workers.tasks import chores
from workers.tasks.duplicates import place_entries
from workers.tasks.enhance import extract_metadata
from workers.tasks.index import index_entries

TENANT, OTHER = "default", "other"


class Recorded(Context):
    """Counts the steps, and does at each what the test asks for."""

    def __init__(self, resources: Resources, headers: Mapping[str, Any]) -> None:
        super().__init__(resources, headers)
        self.seen: list[str] = []
        self.at: dict[str, Callable[[int], object]] = {}

    def checkpoint(self, name: str, *_: UUID) -> None:
        self.seen.append(name)
        if name in self.at:
            self.at[name](self.seen.count(name))

    @property
    def steps(self) -> int:
        return self.seen.count("after_step")


@pytest.fixture
def ctx(make_context):
    return make_context(Recorded)


@pytest.fixture
def indexing(make_indexing_context):
    return make_indexing_context(Recorded)


@pytest.fixture
def save(committing):
    def save(count: int, tenant: str = TENANT) -> list[UUID]:
        with committing.transaction():
            return save_many(
                committing,
                count,
                stages=[METADATA_STAGE],
                tenant=tenant,
                text="RF trip",
            )

    return save


def opened(conn, kind: str) -> UUID:
    chore_records.open_chore(conn, kind)
    (row,) = chore_records.list_unfinished(conn)
    return row.id


def keys(conn, *ages: str, times: int = 1) -> None:
    for age in ages:
        conn.execute(
            "INSERT INTO idempotency"
            " (tenant, caller, route, key, body_hash, created_at)"
            " SELECT 'default', 'c', 'r', %s || n, '', now() - %s::interval"
            "   FROM generate_series(1, %s) AS n",
            (age, age, times),
        )


def count(conn, table: str) -> int:
    return conn.execute(f"SELECT count(*) FROM {table}").fetchone()[0]


def due_again(conn) -> None:
    conn.execute("UPDATE maintenance SET leased_until = NULL, due_at = now()")


def test_what_is_past_its_time_is_forgotten_and_the_rest_is_kept(ctx, committing):
    keys(committing, "25 h", times=2500)
    keys(committing, "1 h", times=3)
    committing.execute(
        "INSERT INTO quarantine (id, stage, error, last_at)"
        " SELECT uuidv7(), 'message:index', '{}', now() - n * interval '1 s'"
        "   FROM generate_series(1, 1200) AS n"
    )
    committing.execute(
        "INSERT INTO upkeep_loop VALUES ('old', now() - interval '2 days', 'x'),"
        " ('new', now(), 'x')"
    )
    committing.execute(
        "INSERT INTO maintenance (id, kind, state, ended_at)"
        " VALUES (uuidv7(), 'x', 'done', now() - interval '31 days'),"
        " (uuidv7(), 'x', 'done', now() - interval '29 days')"
    )
    chore = opened(committing, EXPIRE)

    chores.expire(ctx, chore)

    assert count(committing, "idempotency") == 3
    assert count(committing, "quarantine") == expiry.MESSAGES_KEPT
    oldest = committing.execute(
        "SELECT extract(epoch FROM now() - min(last_at)) FROM quarantine"
    ).fetchone()
    assert oldest[0] < 1100
    assert count(committing, "upkeep_loop") == 1
    ended = chore_records.find(committing, chore)
    assert (ended.state, ended.done, ended.total) == ("done", 2702, 2702)
    assert count(committing, "maintenance") == 2
    assert ctx.steps == 6


def test_a_chore_in_the_hands_of_another_or_ended_is_left_alone(ctx, committing):
    chore = opened(committing, EXPIRE)
    taken = chore_records.claim(committing, EXPIRE)
    assert taken is not None
    chores.expire(ctx, chore)
    assert ctx.seen == []

    chore_records.give_back(committing, taken)
    chores.expire(ctx)
    chores.expire(ctx, chore)

    assert chore_records.find(committing, chore).attempts == 2


def _expire_and_die(given: dict[str, str], name: str, number: int) -> None:
    settings = Settings.load(given)
    ctx = Recorded(Resources(settings, make_app(settings), "test"), {})

    def die(times: int) -> None:
        if times == number:
            os.kill(os.getpid(), signal.SIGKILL)

    ctx.at[name] = die
    chores.expire(ctx)


@pytest.mark.requirement("P2")
@pytest.mark.parametrize("name", ["before_step", "before_commit", "after_step"])
def test_killed_at_a_step_the_next_taker_goes_on_from_the_last_commit(
    database, valkey, ctx, committing, name
):
    keys(committing, "25 h", times=3 * expiry.STEP_ROWS)
    chore = opened(committing, EXPIRE)
    given = {
        "DATABASE_URL": database,
        "BROKER_URL": valkey.url,
        "OPENSEARCH_URL": "off",
    }

    dying = multiprocessing.get_context("spawn").Process(
        target=_expire_and_die, args=(given, name, 2)
    )
    dying.start()
    dying.join(60)

    assert dying.exitcode == -signal.SIGKILL
    done = 2 if name == "after_step" else 1
    assert count(committing, "idempotency") == (3 - done) * expiry.STEP_ROWS
    left = chore_records.find(committing, chore)
    assert (left.state, left.done) == ("running", done * expiry.STEP_ROWS)
    # Until its lease is over it is nobody else's.
    chores.expire(ctx, chore)
    assert ctx.seen == []

    due_again(committing)
    chores.expire(ctx, chore)

    ended = chore_records.find(committing, chore)
    assert (ended.state, ended.done) == ("done", 3 * expiry.STEP_ROWS)
    assert ctx.steps == 3 - done + 4
    assert ended.attempts == 2


def test_a_worker_that_is_to_end_gives_the_chore_back_between_two_steps(
    ctx, committing, monkeypatch
):
    keys(committing, "25 h", times=2 * expiry.STEP_ROWS)
    chore = opened(committing, EXPIRE)
    ctx.at["after_step"] = lambda _: monkeypatch.setattr(
        batches, "is_ending", lambda: True
    )

    chores.expire(ctx, chore)

    left = chore_records.find(committing, chore)
    assert (left.state, left.done, left.strikes) == ("queued", expiry.STEP_ROWS, 0)
    assert ctx.steps == 1
    monkeypatch.undo()
    assert chore_records.claim(committing, EXPIRE) is not None


def test_after_its_time_a_task_sends_the_nudge_for_the_rest(
    celery_setup_app, make_context, committing, monkeypatch
):
    ctx = make_context(Recorded, BROKER_URL=celery_setup_app.conf.broker_url)
    keys(committing, "25 h", times=2 * expiry.STEP_ROWS)
    chore = opened(committing, EXPIRE)
    monkeypatch.setattr(batches, "TASK_SECONDS", 0.0)

    chores.expire(ctx, chore)

    with celery_setup_app.connection_for_read() as link:
        waiting = link.default_channel.client.lrange("chores", 0, -1)
    assert len(waiting) == 1
    assert ctx.steps == 1


def test_a_cancelled_chore_does_no_further_step_and_its_half_step_is_undone(
    ctx, committing
):
    keys(committing, "25 h", times=2 * expiry.STEP_ROWS)
    chore = opened(committing, EXPIRE)
    ctx.at["after_step"] = lambda _: chore_records.cancel(committing, chore)

    chores.expire(ctx, chore)

    ended = chore_records.find(committing, chore)
    assert (ended.state, ended.done) == ("cancelled", expiry.STEP_ROWS)
    assert count(committing, "idempotency") == expiry.STEP_ROWS
    assert chore_records.cancel(committing, chore) == ended
    assert chore_records.list_unfinished(committing) == []


def failing(error: Exception):
    def forget(conn, **step):
        raise error

    return forget


def test_what_fails_by_itself_is_tried_three_times_and_then_told(
    ctx, committing, monkeypatch
):
    chore = opened(committing, EXPIRE)
    monkeypatch.setattr(expiry, "forget", failing(ZeroDivisionError("odd")))
    for strikes in (1, 2):
        chores.expire(ctx, chore)
        left = chore_records.find(committing, chore)
        assert (left.state, left.strikes) == ("queued", strikes)
        # Not at once: it has to wait.
        chores.expire(ctx, chore)
        assert chore_records.find(committing, chore).attempts == strikes
        due_again(committing)

    chores.expire(ctx, chore)

    ended = chore_records.find(committing, chore)
    assert ended.state == "failed"
    assert ended.error is not None
    assert ended.error["details"]["technical"] == "ZeroDivisionError: odd"


def test_a_backend_that_is_away_makes_it_due_later_without_a_strike(
    ctx, committing, monkeypatch
):
    chore = opened(committing, EXPIRE)
    monkeypatch.setattr(expiry, "forget", failing(OpenSearchError()))

    for _ in range(5):
        due_again(committing)
        chores.expire(ctx, chore)

    left = chore_records.find(committing, chore)
    assert (left.state, left.strikes, left.attempts) == ("queued", 0, 5)


def test_a_step_that_is_done_forgives_the_strikes_before_it(
    ctx, committing, monkeypatch
):
    keys(committing, "25 h", times=3 * expiry.STEP_ROWS)
    chore = opened(committing, EXPIRE)
    forget = expiry.forget
    tries = []

    def often(conn, **step):
        tries.append(step)
        if len(tries) % 3:
            raise ZeroDivisionError
        return forget(conn, **step)

    monkeypatch.setattr(expiry, "forget", often)
    for _ in range(30):
        due_again(committing)
        chores.expire(ctx, chore)

    assert chore_records.find(committing, chore).state == "done"


def test_progress_tells_rate_and_time_to_go(committing):
    chore = opened(committing, EXPIRE)
    assert chore_records.find(committing, chore).eta_seconds is None
    taken = chore_records.claim(committing, EXPIRE)
    assert taken is not None
    committing.execute("UPDATE maintenance SET started_at = now() - interval '1 min'")

    chore_records.advance(committing, taken, Progress({"x": 1}, 100, 400))

    found = chore_records.find(committing, chore)
    assert found.per_minute == pytest.approx(100, rel=0.1)
    assert found.eta_seconds == pytest.approx(180, rel=0.1)


def written(ctx) -> dict[str, int]:
    """What the index holds: versions by id."""
    client, alias = ctx.opensearch, mapping.read_alias(ctx.settings.opensearch_index)
    client.indices.refresh(index=alias)
    found = client.search(
        index=alias, body={"size": 5000, "version": True, "_source": False}
    )
    return {hit["_id"]: hit["_version"] for hit in found["hits"]["hits"]}


def wanted(conn) -> dict[str, int]:
    epoch = documents.current_epoch(conn)
    found = conn.execute("SELECT id::text, doc_version FROM entry").fetchall()
    return {one: documents.version_of(epoch, version) for one, version in found}


def due_for_index(conn) -> set[UUID]:
    found = conn.execute("SELECT entry_id FROM work WHERE stage = 'index'").fetchall()
    return {one for (one,) in found}


def drain(ctx) -> None:
    extract_metadata(ctx)
    place_entries(ctx)
    index_entries(ctx)


@pytest.mark.requirement("P6")
def test_reconcile_makes_due_what_is_missing_or_older_and_nothing_else(
    indexing, committing, save, monkeypatch
):
    monkeypatch.setattr(compare_index, "STEP_ENTRIES", 7)
    ids = save(30) + save(20, OTHER)
    missing, older, gone = set(ids[:5]), set(ids[10:13]), ids[40]
    base = indexing.settings.opensearch_index
    fill_index.ensure_filled(indexing.opensearch, base, indexing.pool)
    extract_metadata(indexing)
    committing.execute("DELETE FROM work WHERE entry_id = ANY(%s)", (list(missing),))
    index_entries(indexing)
    committing.execute("DELETE FROM maintenance")
    assert len(written(indexing)) == 45
    committing.execute(
        "UPDATE entry SET doc_version = doc_version + 1 WHERE id = ANY(%s)",
        (list(older),),
    )
    with committing.transaction():
        tombstone(committing, OTHER, gone, reason=None, stages=[INDEX_STAGE])
    committing.execute("DELETE FROM work")
    chore = opened(committing, RECONCILE_INDEX)

    chores.reconcile_index(indexing, chore)

    assert due_for_index(committing) == missing | older | {gone}
    classes = committing.execute("SELECT DISTINCT class FROM work").fetchall()
    assert classes == [(1,)]
    ended = chore_records.find(committing, chore)
    assert (ended.state, ended.done, ended.total) == ("done", 50, 50)
    assert ended.result == {"entries": 50, "differing": 9, "removed": 0, "purged": 0}
    # The days, eight pages of the one that differs, and that there is no other.
    assert indexing.steps == 10
    drain(indexing)
    assert written(indexing) == wanted(committing)


@pytest.mark.requirement("P6")
def test_reconcile_takes_out_what_is_no_entry_any_more(indexing, committing, save):
    ids = save(4)
    drain(indexing)
    committing.execute("DELETE FROM maintenance")
    base = indexing.settings.opensearch_index
    # Of a day long ago, and of a day that has entries.
    ghosts = [uuid7(1_000_000_000), uuid7()]
    for ghost in ghosts:
        document = {
            "entry_id": str(ghost),
            "day": day_buckets.day_of(ghost),
            "check": 1,
        }
        indexing.opensearch.index(
            index=mapping.write_alias(base), id=str(ghost), body=document
        )
    chore = opened(committing, RECONCILE_INDEX)

    chores.reconcile_index(indexing, chore)

    ended = chore_records.find(committing, chore)
    assert ended.result == {"entries": 4, "differing": 0, "removed": 2, "purged": 0}
    assert set(written(indexing)) == set(map(str, ids))
    assert due_for_index(committing) == set()


def test_reconcile_leaves_alone_what_waits_anyway_or_was_put_aside(
    indexing, committing, save
):
    waiting, aside, in_hand, unread = save(4)
    drain(indexing)
    committing.execute("UPDATE entry SET doc_version = doc_version + 1")
    committing.execute("DELETE FROM maintenance")
    committing.execute(
        "INSERT INTO work (entry_id, stage, tenant, due_at, claim, attempts) VALUES"
        " (%s, 'index', %s, now() + interval '1 h', NULL, 2),"
        " (%s, 'index', %s, now(), uuidv7(), 1),"
        " (%s, 'metadata', %s, now(), uuidv7(), 1)",
        (waiting, TENANT, in_hand, TENANT, unread, TENANT),
    )
    committing.execute(
        "INSERT INTO quarantine (id, tenant, entry_id, stage, error)"
        " VALUES (uuidv7(), %s, %s, 'index', '{}')",
        (TENANT, aside),
    )
    opened(committing, RECONCILE_INDEX)

    chores.reconcile_index(indexing)

    assert due_for_index(committing) == {waiting, in_hand}
    found = committing.execute("SELECT entry_id, want, attempts FROM work").fetchall()
    # What is in hand may just have been written to an index that is gone since.
    assert (in_hand, 2, 0) in found
    assert (waiting, 1, 2) in found
    assert aside not in {one for one, *_ in found}


@pytest.mark.requirement("P6")
def test_a_lost_index_is_made_and_filled_again_tombstones_too(
    indexing, committing, save
):
    ids = save(20)
    drain(indexing)
    with committing.transaction():
        tombstone(committing, TENANT, ids[3], reason=None, stages=[INDEX_STAGE])
    drain(indexing)
    base = indexing.settings.opensearch_index
    indexing.opensearch.indices.delete(index=f"{base}-v*")
    # Half way through another walk: that one has to begin again.
    committing.execute("DELETE FROM maintenance")
    chore = opened(committing, RECONCILE_INDEX)
    walking = chore_records.claim(committing, RECONCILE_INDEX)
    assert walking is not None
    chore_records.advance(committing, walking, Progress({"after": "x"}, 10, 20))

    fill_index.ensure_filled(indexing.opensearch, base, indexing.pool)

    assert not chore_records.hold(committing, walking)
    chores.reconcile_index(indexing, chore)
    # Not searched before it is filled: it would say that there is nothing.
    tidy_indices.tidy(indexing.opensearch, base, indexing.pool)
    assert aliases.look(indexing.opensearch, base).read is None
    drain(indexing)
    tidy_indices.tidy(indexing.opensearch, base, indexing.pool)
    assert written(indexing) == wanted(committing)


@pytest.mark.requirement("S1-35")
def test_a_reconcile_measures_what_scores_of_words_are_worth(indexing, committing):
    names = [f"{first}{second}ron tripped" for first in "klmnop" for second in "aeiou"]
    drafts = [EntryDraft("api", name, name) for name in names]
    with committing.transaction():
        save_drafts(committing, drafts, stages=[METADATA_STAGE])
    drain(indexing)
    indexing.opensearch.indices.refresh(
        index=f"{indexing.settings.opensearch_index}-v*"
    )
    chore = opened(committing, RECONCILE_INDEX)

    chores.reconcile_index(indexing, chore)

    scale = score_scale.load_scale(committing)
    assert scale.keys() == {"bm25", "ts_rank"}
    assert all(half > 0 for half in scale.values())
    (where,) = committing.execute(
        "SELECT measured_in FROM score_scale WHERE unit = 'bm25'"
    ).fetchone()
    assert where.startswith(indexing.settings.opensearch_index)


def test_without_its_index_reconcile_waits_and_takes_nothing_for_missing(
    indexing, committing, save
):
    save(3)
    drain(indexing)
    committing.execute("DELETE FROM maintenance")
    base = indexing.settings.opensearch_index
    indexing.opensearch.indices.delete(index=f"{base}-v*")
    chore = opened(committing, RECONCILE_INDEX)

    chores.reconcile_index(indexing, chore)

    left = chore_records.find(committing, chore)
    assert (left.state, left.strikes) == ("queued", 0)
    assert due_for_index(committing) == set()


def test_without_opensearch_it_ends_and_notes_that_nothing_was_compared(
    ctx, committing, save
):
    save(2)
    chore = opened(committing, RECONCILE_INDEX)

    chores.reconcile_index(ctx, chore)

    ended = chore_records.find(committing, chore)
    assert (ended.state, ended.done) == ("done", 0)
    noted = committing.execute("SELECT index_missed_at FROM installation").fetchone()
    assert noted[0] is not None
    # Noted once: the row is not written again for each of a million entries.
    fill_index.note_missed(committing)
    again = committing.execute("SELECT index_missed_at FROM installation").fetchone()
    assert again == noted


def test_what_was_missed_starts_a_reconcile_but_not_every_few_seconds(ctx, committing):
    fill_index.note_missed(committing)
    fill_index.catch_up(ctx.pool)
    (row,) = chore_records.list_unfinished(committing)
    chores.reconcile_index(ctx, row.id)

    fill_index.catch_up(ctx.pool)
    assert chore_records.list_unfinished(committing) == []
    committing.execute("UPDATE maintenance SET created_at = now() - interval '61 s'")
    fill_index.catch_up(ctx.pool)

    assert [one.kind for one in chore_records.list_unfinished(committing)] == [
        RECONCILE_INDEX
    ]
