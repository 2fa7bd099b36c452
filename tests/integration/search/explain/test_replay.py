"""A search asked again comes to the same, or says what changed."""

import json
from dataclasses import replace
from typing import Any

import pytest

from shared.entries.draft import EntryDraft
from shared.postgres.pool import connection
from shared.search.explain import replay
from shared.search.jobs import outcome, verdict
from shared.search.jobs.job import StoredJob
from shared.search.query.plan import Plan
from tests.support.fixtures.asking import ANNA, BEN, Asking


def draft(name: str, text: str, **fields: Any) -> EntryDraft:
    return EntryDraft("operations", name, text, **fields)


@pytest.fixture
def logbook(asking: Asking) -> Asking:
    asking.write(
        draft("trip", "RF cavity 3 tripped at noon"),
        draft("again", "RF cavity 3 tripped again"),
        draft("secret", "RF cavity 9 tripped in secret", readers=("ben",)),
    )
    # Written long ago: what is written from here on is news.
    with connection(asking.pool) as conn:
        conn.execute("UPDATE entry SET modified_at = now() - interval '1 h'")
    return asking


def again(logbook: Asking, job: StoredJob, **fields: Any) -> StoredJob:
    plan = Plan.from_values(job.plan)
    plan = replace(plan, **fields)
    record = replace(plan.record, replay_of=str(job.id))
    return logbook.ended(replace(plan, record=record))


def compared(logbook: Asking, old: StoredJob, new: StoredJob) -> dict[str, Any]:
    with connection(logbook.pool) as conn:
        return replay.compare(conn, ANNA, old, new)


def inputs(found: dict[str, Any]) -> list[str]:
    return [one["input"] for one in found["changed"]]


@pytest.mark.requirement("I06")
@pytest.mark.parametrize("mode", ["keyword", "semantic", "hybrid"])
def test_with_nothing_written_it_comes_to_the_same(logbook: Asking, mode: str):
    job = logbook.ended(logbook.plan("cavity tripped", mode=mode))
    found = compared(logbook, job, again(logbook, job))
    assert (found["of"], found["same"], found["changed"]) == (str(job.id), True, [])
    assert found["old_hash"] == found["new_hash"]
    assert found["old_hash"] is not None


@pytest.mark.requirement("I06")
@pytest.mark.parametrize("fields", ["metadata.run:>40", "(metadata.run:..41 OR x)"])
def test_a_range_of_metadata_is_asked_again_as_it_was(logbook: Asking, fields: str):
    logbook.write(draft("run", "cavity detuned", metadata={"run": 41}))
    job = logbook.ended(logbook.plan(f"cavity {fields}"))
    found = compared(logbook, job, again(logbook, job))
    assert (found["same"], found["changed"]) == (True, [])
    assert [
        one["external_id"] for one in logbook.ask(f"cavity {fields}")["results"]
    ] == ["run"]


@pytest.mark.requirement("I06")
def test_after_one_edit_the_entry_and_the_watermark_are_named(logbook: Asking):
    job = logbook.ended(logbook.plan("cavity tripped"))
    ids = logbook.write(draft("trip", "RF cavity 3 tripped, tripped and tripped"))
    found = compared(logbook, job, again(logbook, job))
    assert found["same"] is False
    assert inputs(found) == ["entry", "index_watermark"]
    entry = found["changed"][0]
    assert (entry["from"], entry["to"]) == (f"{ids['trip']}@1", f"{ids['trip']}@2")


def test_what_came_is_named_to_whoever_may_see_it(logbook: Asking):
    job = logbook.ended(logbook.plan("cavity tripped"))
    ids = logbook.write(
        draft("new", "cavity tripped"),
        draft("closed", "cavity tripped too", readers=("ben",)),
    )
    found = compared(logbook, job, again(logbook, job))
    entries = [one for one in found["changed"] if one["input"] == "entry"]
    assert [(one["from"], one["to"]) for one in entries] == [(None, f"{ids['new']}@1")]
    assert str(ids["closed"]) not in json.dumps(found)


def test_what_anybody_wrote_moves_the_watermark(logbook: Asking):
    job = logbook.ended(logbook.plan("cavity tripped"))
    logbook.write(draft("other", "a pump", readers=("ben",)))
    found = compared(logbook, job, again(logbook, job))
    assert inputs(found) == ["index_watermark"]


@pytest.mark.requirement("I06")
def test_a_changed_configuration_is_named(logbook: Asking):
    plan = logbook.plan("cavity tripped")
    plan = replace(plan, record=replace(plan.record, config_hash="a"))
    job = logbook.ended(plan)
    found = compared(
        logbook, job, again(logbook, job, record=replace(plan.record, config_hash="b"))
    )
    assert found["changed"] == [{"input": "config", "from": "a", "to": "b"}]


@pytest.mark.requirement("I06")
def test_what_a_deadline_cut_cannot_be_repeated(logbook: Asking):
    plan = logbook.plan("cavity tripped", mode="hybrid")
    told = logbook.carried_out(plan)
    whole = logbook.answer(plan, told)
    assert whole["replayable"] is True
    told[1] = [outcome.make_overdue("semantic", "cosine")]
    cut = logbook.answer(plan, told)
    assert (cut["state"], cut["replayable"]) == ("partial", False)
    job = logbook.ended(plan, told)
    assert "deadline" in inputs(compared(logbook, job, again(logbook, job)))
    assert not verdict.is_replayable("done", told[1])


@pytest.mark.requirement("I06")
def test_what_a_model_was_late_for_cannot_be_repeated(logbook: Asking):
    plan = logbook.plan("cavity tripped")
    told = logbook.carried_out(plan)
    late = outcome.Outcome(outcome.RERANK, "skipped", "logit", reason=outcome.DEADLINE)
    assert verdict.is_replayable("done", told[0])
    assert not verdict.is_replayable("done", [*told[0], late])
    job = logbook.ended(plan, {0: [*told[0], late]})
    changed = compared(logbook, job, again(logbook, job))["changed"]
    assert {"input": "deadline", "from": "rerank", "to": None} in changed


@pytest.mark.requirement("P10")
def test_whoever_asks_again_sees_with_rights_of_their_own(logbook: Asking):
    job = logbook.ended(logbook.plan("cavity tripped", BEN))
    mine = logbook.ended(replace(Plan.from_values(job.plan), scope=ANNA))
    found = compared(logbook, job, mine)
    assert found["same"] is False
    assert all(one["to"] is None for one in found["changed"] if one["input"] == "entry")


def pushed_off(logbook: Asking) -> tuple[StoredJob, StoredJob]:
    """Return two jobs of one hit each, of which nothing but the order tells another."""
    job = logbook.ended(logbook.plan("cavity again", limit=1))
    return job, logbook.ended(replace(logbook.plan("cavity noon", limit=1)))


def test_what_others_pushed_off_its_page_is_not_said_to_have_changed(logbook: Asking):
    found = compared(logbook, *pushed_off(logbook))
    assert (found["same"], found["changed"]) == (False, [])


def test_what_was_edited_and_fell_off_its_page_is_named(logbook: Asking):
    job = logbook.ended(logbook.plan("again"))
    ids = logbook.write(draft("again", "all quiet"))
    found = compared(logbook, job, again(logbook, job))
    (entry,) = (one for one in found["changed"] if one["input"] == "entry")
    assert (entry["from"], entry["to"]) == (f"{ids['again']}@1", f"{ids['again']}@2")


@pytest.mark.requirement("P10")
def test_rights_that_were_lost_move_no_watermark_and_name_no_entry(logbook: Asking):
    job = logbook.ended(logbook.plan("secret", BEN))
    found = compared(
        logbook, job, logbook.ended(replace(Plan.from_values(job.plan), scope=ANNA))
    )
    assert (found["same"], inputs(found)) == (False, [])


def test_without_an_order_nobody_knows_whether_it_is_the_same(logbook: Asking):
    job = logbook.ended(logbook.plan("cavity tripped"))
    found = compared(logbook, job, replace(again(logbook, job), ranked=None))
    assert (found["same"], found["new_hash"]) == (None, None)


def test_whole_tables_are_never_read(logbook: Asking):
    job = logbook.ended(logbook.plan("cavity tripped"))
    new = again(logbook, job)
    read = """SELECT pg_stat_get_xact_tuples_returned('entry'::regclass)
                   + pg_stat_get_xact_tuples_fetched('entry'::regclass)"""
    with connection(logbook.pool) as conn:
        # The filling is no statement of ours, and a busy machine takes its time.
        conn.execute("SET LOCAL statement_timeout = 0")
        conn.execute(
            """INSERT INTO entry
               SELECT (jsonb_populate_record(e, jsonb_build_object(
                          'id', uuidv7(), 'external_id', 'n' || n))).*
                 FROM entry e, generate_series(1, 5000) n
                WHERE e.external_id = 'trip'"""
        )
        conn.execute("ANALYZE entry")
        before = conn.execute(read).fetchall()[0][0]
        found = replay.compare(conn, ANNA, job, new)
        assert (found["same"], found["changed"]) == (True, [])
        assert conn.execute(read).fetchall()[0][0] - before < 2000
