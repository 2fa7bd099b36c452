"""Entries that come, matched with saved searches by the tasks that a worker runs."""

import gc
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from psycopg import sql

from shared.access import keys
from shared.access.scope import Scope
from shared.entries.draft import EntryDraft
from shared.entries.saving.save import save_page
from shared.errors import DatabaseQueryError, LogchordError
from shared.messaging.stage_names import ALERT_STAGE, METADATA_STAGE
from shared.search.retrieval.module_contract import Ask
from shared.search.retrieval.modules import newest, semantic
from shared.settings.settings import Settings
from shared.watch import match_entries as matching
from shared.watch import preview_alerts, saved_searches
from shared.watch.owners import find_rights
from shared.watch.preview_alerts import WrittenEntry
from shared.watch.saved_plans import SavedPlanner, SavedPlans
from shared.watch.saved_searches import AlertRule, SavedSearch, SavedSearchDraft
from shared.work import due_work, lag
from tests.support.fixtures.workers import MakeContext
from workers.runtime.context import Context
from workers.tasks.alert import match_entries
from workers.tasks.enhance import embed_entries, extract_metadata

TENANT, MODEL = "default", "hashing-384"
STAGES = [METADATA_STAGE, f"embed:{MODEL}"]
ON = AlertRule(enabled=True)
Save = Callable[..., UUID]


class KilledError(BaseException):
    """Ends a task at once, as a kill does: nothing behind it is carried out."""


class Killable(Context):
    """A context whose task dies at one checkpoint."""

    dies_at: str | None = None

    def checkpoint(self, name: str, *_: UUID) -> None:
        if name == self.dies_at:
            raise KilledError


@pytest.fixture
def ctx(make_context: MakeContext) -> Iterator[Killable]:
    made = make_context(Killable)
    assert isinstance(made, Killable)
    yield made
    Killable.dies_at = None


@pytest.fixture
def key(conn: Any) -> Callable[..., Scope]:
    def make(subject: str = "shift", **fields: Any) -> Scope:
        made = keys.create_key(
            conn, tenant=TENANT, name=subject, scopes=("search",), **fields
        )
        conn.commit()
        return keys.find_by_id(conn, made.key_id)

    return make


@pytest.fixture
def saved(conn: Any, key: Callable[..., Scope]) -> Callable[..., SavedSearch]:
    def make(query: str, owner: Scope | None = None, **fields: Any) -> SavedSearch:
        given = {"semantic": False, "similarity_threshold": None, "alert": ON}
        request = {"query": query, "filters": fields.pop("filters", {})}
        draft = SavedSearchDraft(query or "all", request, **{**given, **fields})
        found = saved_searches.create(conn, owner or key(), draft)
        conn.commit()
        return found

    return make


@pytest.fixture
def write(conn: Any) -> Save:
    number = iter(range(1000))

    def write(text: str, **fields: Any) -> UUID:
        one = EntryDraft("api", fields.pop("name", f"E-{next(number)}"), text, **fields)
        [done] = save_page(conn, TENANT, [one], stages=STAGES, editor="test")
        conn.commit()
        return done.entry_id

    return write


def work(ctx: Context) -> None:
    extract_metadata(ctx)
    embed_entries(ctx, MODEL)
    match_entries(ctx)


def fired(conn: Any, one: SavedSearch) -> dict[UUID, list[str]]:
    conn.rollback()
    rows = conn.execute(
        "SELECT entry_id, matched_by FROM alert WHERE saved_search_id = %s", [one.id]
    )
    return dict(rows.fetchall())


def plans_of(ctx: Context, one: SavedSearch, owner: Scope) -> SavedPlans:
    return SavedPlanner(ctx.settings, ctx.search_context).plan(
        one.request, owner, semantic=one.semantic, threshold=one.similarity_threshold
    )


def searched(ctx: Context, one: SavedSearch, owner: Scope) -> set[UUID]:
    """Return all that searches find now, by words and by meaning."""
    plans = plans_of(ctx, one, owner)
    ask = Ask.lasting(replace(plans.by_words, limit=500), 10)
    hits = [*newest.search(replace(ask, limit=500), ctx.search_context).hits]
    if plans.by_meaning is not None:
        ask = replace(Ask.lasting(plans.by_meaning, 10), limit=500)
        hits += semantic.search(ask, ctx.search_context).hits
    return {UUID(hit.entry_id) for hit in hits}


TEXTS = (
    *("RF cavity 2 tripped on arc", "Cavity tripped again", "Beam lost, no trip"),
    *("Pumped down sector 4", "Vakuumleck an der Kavität", "Tripwire found in sector"),
    *("CM-03 quench", "quench of CM-03, cavity detuned", "Quiet shift"),
)


@pytest.mark.requirement("I08")
@pytest.mark.parametrize(
    ("query", "filters"),
    [
        ("cavity", {}),
        ("cavity tripped", {}),
        ('"tripped again"', {}),
        ("quench NOT detuned", {}),
        ("cavity OR sector", {}),
        # No word of the pattern is known before the entry comes that has it.
        ("tripw*", {}),
        ("CM-03", {}),
        ("trip", {"logbook": "ops"}),
        ("", {"logbook": "ops"}),
    ],
)
def test_what_fires_is_what_a_search_then_finds(
    ctx, conn, key, saved, write, query, filters
) -> None:
    owner = key()
    one = saved(query, owner, filters=filters, semantic=True, similarity_threshold=0.4)
    for place, text in enumerate(TEXTS):
        write(text, logbooks=("ops",) if place % 2 else ("rf",))
        work(ctx)

    found = searched(ctx, one, owner)
    assert set(fired(conn, one)) == found
    assert 0 < len(found) < len(TEXTS)


@pytest.mark.requirement("I08")
def test_a_match_by_meaning_has_its_threshold_and_joins_one_by_words(
    ctx: Killable, conn: Any, saved: Callable[..., SavedSearch], write: Save
) -> None:
    strict = saved("cavity tripped", semantic=True, similarity_threshold=0.99)
    loose = saved("cavity tripped", semantic=True, similarity_threshold=0.5)
    both = write("cavity tripped")
    near = write("cavity two")
    work(ctx)

    assert fired(conn, strict) == {both: ["keyword", "semantic"]}
    assert fired(conn, loose) == {both: ["keyword", "semantic"], near: ["semantic"]}


@pytest.mark.requirement("I08")
@pytest.mark.parametrize("dies_at", ["after_match", "before_finish", "before_commit"])
def test_an_entry_fires_once_whoever_dies(ctx, conn, saved, write, dies_at) -> None:
    one = saved("cavity")
    entry_id = write("cavity tripped")
    extract_metadata(ctx)
    Killable.dies_at = dies_at
    with pytest.raises(KilledError):
        match_entries(ctx)
    Killable.dies_at = None
    assert fired(conn, one) == {}

    conn.execute("UPDATE work SET leased_until = now() - interval '1 s'")
    conn.commit()
    work(ctx)
    # Told once more by whoever lost the message, and by an edit.
    due_work.add(conn, TENANT, [entry_id], [ALERT_STAGE])
    conn.commit()
    match_entries(ctx)
    write("cavity tripped twice", name="E-0")
    work(ctx)

    assert list(fired(conn, one)) == [entry_id]
    left = conn.execute("SELECT count(*) FROM work WHERE stage = 'alert'").fetchone()
    assert left == (0,)


@pytest.mark.requirement("I08")
def test_a_thread_fires_once_unless_each_entry_is_wanted(ctx, conn, saved, write):
    once = saved("cavity")
    each = saved("cavity", alert=replace(ON, one_per_thread=False))
    first = write("cavity tripped", name="A")
    work(ctx)
    answer = write("cavity is back", name="B", reply_to="A")
    other = write("cavity of another ring", name="C")
    work(ctx)

    assert set(fired(conn, once)) == {first, other}
    assert set(fired(conn, each)) == {first, answer, other}


def test_a_thread_that_comes_at_once_fires_by_its_oldest_entry(ctx, conn, saved, write):
    one = saved("cavity")
    later = datetime.now(UTC) + timedelta(minutes=5)
    write("cavity is back", name="B", reply_to="A", entry_time=later)
    first = write("cavity tripped", name="A")
    work(ctx)

    assert list(fired(conn, one)) == [first]


@pytest.mark.requirement("I08")
def test_nobody_is_told_of_what_they_may_not_see(ctx, conn, key, saved, write) -> None:
    narrow = saved("cavity", key("guest", logbooks=["rf"]))
    named, revoked = key("named"), key("gone")
    of_named, of_revoked = saved("cavity", named), saved("cavity", revoked)
    keys.revoke(conn, TENANT, str(revoked.key_id))
    conn.commit()
    open_to_all = write("cavity tripped", logbooks=("rf",))
    write("cavity tripped", logbooks=("ops",), readers=("operators",))
    for_named = write("cavity tripped", logbooks=("ops",), readers=("named",))
    work(ctx)

    assert set(fired(conn, narrow)) == {open_to_all}
    assert set(fired(conn, of_named)) == {open_to_all, for_named}
    assert fired(conn, of_revoked) == {}


@pytest.mark.requirement("U22", "U21")
def test_a_person_is_told_of_what_their_groups_may_see_while_they_come(
    conn, key, saved
) -> None:
    given = "{groups: {rf: {logbooks: [RF]}, ops: {}, write: {scopes: [ingest]}}}"
    settings = Settings.load({"LOGCHORD_PEOPLE": given})
    anna = Scope(TENANT, "anna", groups=("rf",), is_person=True)
    own = saved("klystron", anna)
    agent = key("bot", logbooks=["RF", "Vacuum"])
    by_agent = saved("klystron", agent.narrow_to(anna))

    def rights(one: SavedSearch) -> Scope | None:
        found = saved_searches.find_any(conn, TENANT, one.id)
        return find_rights(conn, settings, found)

    def come(*groups: str) -> list[tuple[str, ...] | None]:
        saved_searches.note_person(conn, TENANT, "anna", groups)
        return [found and found.logbooks for found in map(rights, (own, by_agent))]

    assert [found and found.logbooks for found in map(rights, (own, by_agent))] == [
        ("RF",),
        ("RF",),
    ]
    assert come("ops") == [None, ("RF", "Vacuum")]
    assert come("write") == [None, None]
    assert rights(own) is rights(by_agent) is None
    come("rf")
    keys.revoke(conn, TENANT, str(agent.key_id))
    assert rights(own) is not None
    assert rights(by_agent) is None
    conn.execute("UPDATE saved_search SET person_seen_at = now() - interval '31 d'")
    assert rights(own) is None
    assert come("rf")[0] == ("RF",)


def test_what_is_hidden_fires_once_it_may_be_seen(ctx, conn, saved, write) -> None:
    one = saved("cavity")
    at_once = write("cavity tripped")
    later = write(
        "cavity 3 tripped", visible_from=datetime.now(UTC) + timedelta(days=2)
    )
    work(ctx)

    assert set(fired(conn, one)) == {at_once}
    for tenant in (lag.ANY_TENANT, TENANT):
        # `logchord ingest` waits for no work that is put off until then.
        stages = {row.stage: row for row in lag.measure_lag(conn, [], tenant).stages}
        waiting = stages.get(ALERT_STAGE)
        assert waiting is None or (waiting.due, waiting.overdue) == (0, 0)
        assert waiting is None or waiting.oldest_seconds == 0
    # Two days pass.
    for table, column in (("entry", "visible_from"), ("work", "due_at")):
        moved = sql.SQL("UPDATE {t} SET {c} = {c} - interval '2 days'")
        names = {"t": sql.Identifier(table), "c": sql.Identifier(column)}
        conn.execute(moved.format(**names))
    conn.commit()
    match_entries(ctx)

    assert set(fired(conn, one)) == {at_once, later}
    left = conn.execute("SELECT count(*) FROM work WHERE stage = 'alert'").fetchone()
    assert left == (0,)


def test_an_edit_of_what_is_hidden_is_matched_at_once(ctx, conn, saved, write) -> None:
    one = saved("cavity")
    hidden = datetime.now(UTC) + timedelta(days=2)
    entry = write("cavity tripped", name="A", visible_from=hidden)
    work(ctx)
    assert fired(conn, one) == {}
    write("cavity 3 tripped", name="A")
    work(ctx)
    assert set(fired(conn, one)) == {entry}


def test_what_nobody_waits_for_makes_no_work(ctx, conn, saved, write) -> None:
    def due() -> int:
        conn.rollback()
        found = conn.execute("SELECT count(*) FROM work WHERE stage = 'alert'")
        return int(found.fetchone()[0])

    saved("cavity", alert=AlertRule())
    write("cavity tripped")
    extract_metadata(ctx)
    assert due() == 0

    saved("cavity")
    # History that is read late is nothing new.
    write("cavity tripped", entry_time=datetime.now(UTC) - timedelta(days=9))
    extract_metadata(ctx)
    assert due() == 0

    write("cavity tripped")
    extract_metadata(ctx)
    assert due() == 1


@pytest.mark.requirement("I08")
@pytest.mark.parametrize("by_thread", [True, False])
def test_a_dry_run_counts_what_a_replay_fires(
    ctx, conn, key, saved, write, monkeypatch, *, by_thread
) -> None:
    monkeypatch.setattr(preview_alerts, "ENTRIES_AT_ONCE", 2)
    owner, now = key("guest", logbooks=["rf"]), datetime.now(UTC)
    for day in range(40):
        said = f"{TEXTS[day % len(TEXTS)]} {day}"
        parent = f"D-{day - 1}" if day % 3 == 2 else None
        hidden = ("ops",) if day % 11 == 0 else ("rf",)
        write(
            said,
            name=f"D-{day}",
            reply_to=parent,
            logbooks=hidden,
            entry_time=now - timedelta(days=day, minutes=1),
        )
    rule = replace(ON, one_per_thread=by_thread)
    one = saved("cavity", owner, semantic=True, similarity_threshold=0.3, alert=rule)
    work(ctx)
    assert fired(conn, one) == {}, "history fires nothing"
    one = saved_searches.find(conn, owner, one.id)
    assert one.vector is not None

    most_held, match_now = 0, matching.match

    def match(*given: Any) -> Any:
        nonlocal most_held
        held = sum(isinstance(one, WrittenEntry) for one in gc.get_objects())
        most_held = max(most_held, held)
        return match_now(*given)

    monkeypatch.setattr(preview_alerts, "MOST_SAMPLES", 3)
    monkeypatch.setattr(matching, "match", match)
    found = preview_alerts.preview_alerts(
        ctx.search_context,
        plans_of(ctx, one, owner),
        one.vector,
        days=30,
        by_thread=by_thread,
    )

    conn.execute(
        "UPDATE saved_search SET alerts_since = %s", [now - timedelta(days=30)]
    )
    ids = [row[0] for row in conn.execute("SELECT id FROM entry").fetchall()]
    due_work.add(conn, TENANT, ids, [ALERT_STAGE])
    conn.commit()
    match_entries(ctx)
    replayed = fired(conn, one)
    assert found.would_have_fired == len(replayed) > 5
    # Two pages, and what is shown; not all that matched.
    assert (len(found.samples), most_held <= 3 + 2 * 2) == (3, True)
    if not by_thread:
        ways = {sample.id: ways for sample, ways in found.samples}
        assert ways == {key: replayed[key] for key in ways}


@pytest.mark.parametrize(
    "failure",
    [DatabaseQueryError(out_of_time=True), LogchordError(code="branch_timeout")],
    ids=["a slow statement", "a branch out of time"],
)
def test_a_saved_search_that_fails_costs_its_owner_alone(
    ctx, conn, saved, write, monkeypatch, failure
) -> None:
    slow, quick = saved("cavity"), saved("cavity")
    match = matching.match

    def fails_for_one(context: Any, plans: Any, *more: Any) -> Any:
        # The first that was saved is asked first.
        if next(asked):
            raise failure
        return match(context, plans, *more)

    entry = write("RF cavity 2 tripped on arc")
    asked = iter([True, *[False] * 9])
    monkeypatch.setattr(matching, "match", fails_for_one)
    work(ctx)
    assert fired(conn, quick) == {entry: ["keyword"]}
    assert fired(conn, slow) == {}
    left = "SELECT count(*) FROM work WHERE stage = %s"
    assert conn.execute(left, [ALERT_STAGE]).fetchone()[0] == 0


def test_a_pattern_has_no_meaning_that_entries_could_be_near(ctx, conn, saved, write):
    one = saved("SR:C??-RF*", semantic=True, similarity_threshold=-1.0)
    write("The canteen is closed today.")
    work(ctx)
    assert fired(conn, one) == {}
    (kept,) = saved_searches.list_watching(conn, TENANT)
    assert kept.vector is None


def test_what_was_saved_without_meaning_has_one_once_that_is_switched_on(
    ctx, conn, make_context, saved, write
) -> None:
    write("The canteen is closed today.")
    work(ctx)
    off = make_context(LOGCHORD_SEARCH_MODULES__SEMANTIC__ENABLED="false")
    one = saved("cavity tripped", semantic=True, similarity_threshold=0.5)
    words = write("cavity tripped")
    work(off)
    assert fired(conn, one) == {words: ["keyword"]}

    near = write("cavity two")
    work(ctx)

    assert fired(conn, one)[near] == ["semantic"]
