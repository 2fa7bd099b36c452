"""Why a search did not return an entry: one case for every gate."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from shared.access.scope import Scope
from shared.entries.draft import EntryDraft
from shared.entries.saving.save import save_page, tombstone
from shared.errors import InvalidRequestError, OpenSearchError
from shared.postgres.pool import connection
from shared.search.explain import why_not
from shared.search.jobs import outcome
from shared.search.jobs.job import StoredJob
from shared.search.ranking import fold
from shared.search.response import job_answer
from tests.support.fixtures.asking import ANNA, BEN, ELSEWHERE, Asking

MARCH = datetime(2026, 3, 2, 5, 31, tzinfo=UTC)


def draft(name: str, text: str, **fields: Any) -> EntryDraft:
    given = {"source": "operations", "entry_time": MARCH, **fields}
    return EntryDraft(external_id=name, text=text, **given)


@pytest.fixture
def logbook(asking: Asking) -> Asking:
    asking.write(
        draft("trip", "RF cavity 3 tripped at noon"),
        draft("pump", "Vacuum pump replaced", source="shift"),
        draft("secret", "RF cavity 9 tripped in secret", readers=("ben",)),
    )
    asking.write(draft("theirs", "RF cavity tripped"), tenant="elsewhere")
    return asking


def why(
    logbook: Asking, job: StoredJob, ref: str, scope: Scope = ANNA
) -> dict[str, Any]:
    reader = job_answer.JobReader(logbook.context, scope)
    return why_not.explain(reader, job, ref).body()


def asked(
    logbook: Asking, query: str, ref: str, scope: Scope = ANNA, **fields: Any
) -> dict[str, Any]:
    plan = logbook.plan(query, scope, **fields)
    return why(logbook, logbook.ended(plan), ref, scope)


def test_what_is_in_the_answer_is_said_to_be_with_its_place(logbook):
    said = asked(logbook, "cavity", "operations/trip")
    assert (said["gate"], said["returned"], said["rank"]) == ("returned", True, 1)


@pytest.mark.requirement("P10", "U21")
def test_an_entry_that_one_may_not_see_is_as_absent_as_none(logbook):
    unknown = asked(logbook, "cavity", "operations/none")
    assert unknown["gate"] == "not_found"
    for ref in ("operations/secret", "secret", "theirs", "operations/theirs"):
        assert asked(logbook, "cavity", ref) == unknown
    assert asked(logbook, "cavity", "secret", BEN)["gate"] == "returned"
    theirs = asked(logbook, "cavity", "theirs", ELSEWHERE)
    assert theirs["gate"] == "returned"
    # What a caller has lost since is gone from what they asked before, too.
    job = logbook.ended(logbook.plan("cavity", BEN))
    assert why(logbook, job, "secret", Scope("default", "ben", logbooks=("x",))) == (
        unknown
    )


def test_nobody_shows_up_in_what_is_said_of_others(logbook):
    said = asked(logbook, "klystron", "trip")
    assert "secret" not in json.dumps(said)
    assert "theirs" not in json.dumps(said)


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("deleted at its source", "It was deleted in its logbook."),
        (None, "It was deleted here, by a request."),
    ],
)
def test_a_deleted_entry_is_said_to_be_and_where(logbook, reason, told):
    ids = logbook.write(draft("gone", "cavity gone"))
    job = logbook.ended(logbook.plan("cavity"))
    with connection(logbook.pool) as conn:
        tombstone(conn, "default", ids["gone"], reason=reason, stages=[])
    said = why(logbook, job, "gone")
    assert (said["gate"], said["explanation"]) == ("deleted", told)


@pytest.mark.parametrize(
    ("filters", "gate"),
    [
        ({"date_from": "2026-03-03"}, "outside_window"),
        ({"source": "shift"}, "filter:source"),
        ({"logbook": "x"}, "filter:logbook"),
        ({"author": "x"}, "filter:author"),
        ({"system": "x"}, "filter:system"),
        ({"has_attachment": True}, "filter:has_attachment"),
        ({"event_from": "2026-03-03"}, "filter:event_from"),
        ({"quantity": {"unit": "mA", "gte": 3}}, "filter:quantity"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_a_filter_that_keeps_it_out_is_named(logbook, filters, gate):
    said = asked(logbook, "cavity", "trip", filters=filters)
    assert (said["gate"], said["returned"]) == (gate, False)


RUN = {"run": 41, "installed": "2024-02-10"}


@pytest.mark.requirement("I07")
@pytest.mark.parametrize(
    ("fields", "gate"),
    [
        ("metadata.run:>40 metadata.installed:2024-02..", "returned"),
        ("metadata.run:>41", "filter:metadata.run"),
        ("metadata.installed:>2024-02", "filter:metadata.installed"),
        ("-metadata.run:40..", "no_match"),
        ("(klystron OR metadata.run:42..)", "no_match"),
        ("(klystron OR metadata.run:..41)", "returned"),
    ],
)
def test_a_range_of_metadata_that_keeps_it_out_is_told(logbook, fields, gate):
    logbook.write(draft("run", "cavity detuned", metadata=RUN))
    assert asked(logbook, f"cavity {fields}", "run")["gate"] == gate


def test_an_excluded_entry_is_kept_out_by_that_filter(logbook):
    ids = logbook.write(draft("one", "cavity one"))
    given = {"exclude_entry_ids": [str(ids["one"])]}
    said = asked(logbook, "cavity", str(ids["one"]), filters=given)
    assert said["gate"] == "filter:exclude_entry_ids"


def test_what_no_stage_has_read_yet_is_not_indexed_and_not_embedded(logbook):
    with connection(logbook.pool) as conn:
        new = [draft("new", "cavity tripped")]
        save_page(conn, "default", new, stages=["metadata"], editor="test")
    assert asked(logbook, "cavity", "new")["gate"] == "not_indexed"
    assert asked(logbook, "cavity", "new", mode="semantic")["gate"] == "not_embedded"


def test_what_no_stage_has_read_yet_is_not_told_apart_by_a_listing(logbook):
    with connection(logbook.pool) as conn:
        new = [draft("new", "cavity tripped")]
        save_page(conn, "default", new, stages=["metadata"], editor="test")
    assert asked(logbook, "-pump", "new")["gate"] == "not_indexed"


def test_what_is_deleted_while_it_is_asked_for_is_not_found(logbook, monkeypatch):
    job = logbook.ended(logbook.plan("cavity"))
    order_of = job_answer.order_of

    def and_meanwhile(*args: Any) -> Any:
        with connection(logbook.pool) as conn:
            key = "SELECT id FROM entry WHERE external_id = 'trip'"
            ((entry_id,),) = conn.execute(key).fetchall()
            tombstone(conn, "default", entry_id, reason=None, stages=[])
        return order_of(*args)

    monkeypatch.setattr(job_answer, "order_of", and_meanwhile)
    assert why(logbook, job, "trip")["gate"] == "not_found"


def test_the_missing_word_is_named(logbook):
    said = asked(logbook, "cavity AND klystron", "trip")
    assert (said["gate"], said["value"], said["limit"]) == ("no_match", 1, 2)
    assert said["explanation"] == "It does not have 'klystron'."
    said = asked(logbook, "replaced -pump", "shift/pump")
    assert said["explanation"] == "It has 'pump', which is excluded."
    said = asked(logbook, '"tripped cavity"', "trip")
    assert said["explanation"] == "It does not have 'trip caviti'."
    # Any word was enough, and it has none.
    said = asked(logbook, "klystron pump", "trip")
    assert said["explanation"] == "It does not have 'klystron', 'pump'."


def test_a_cosine_below_the_floor_is_told_beside_it(logbook):
    given = {"similarity_threshold": 0.999}
    said = asked(logbook, "cavity tripping", "trip", mode="semantic", ordering=given)
    assert said["gate"] == "below_similarity"
    assert 0 < said["value"] < said["limit"] == 0.999


def test_a_place_behind_the_candidates_is_told(logbook):
    logbook.write(*(draft(f"n{n}", f"klystron {n}" + " fault" * n) for n in range(60)))
    plan = logbook.plan("klystron")
    job = logbook.ended(plan)
    window = job_answer.read_order(job.ranked or {}).items
    found = {item.entry_id for item in window}
    assert len(found) == plan.window == 50
    with connection(logbook.pool) as conn:
        rows = conn.execute("SELECT id::text FROM entry WHERE external_id LIKE 'n%'")
        left_out = sorted({row[0] for row in rows} - found)
    told = [why(logbook, job, entry_id) for entry_id in left_out]
    assert {one["gate"] for one in told} == {"outside_candidates"}
    assert sorted(one["value"] for one in told) == [*range(51, 61)]
    assert {one["limit"] for one in told} == {50}


def test_what_stands_on_a_later_page_of_a_list_by_time_is_told_its_place(logbook):
    logbook.write(
        *(
            draft(f"n{n}", "klystron", entry_time=MARCH - timedelta(minutes=n))
            for n in range(60)
        )
    )
    job = logbook.ended(logbook.plan("klystron", sort="newest"))
    for n in (10, 49, 50, 59):
        said = why(logbook, job, f"n{n}")
        told = (said["gate"], said["rank"], said["value"], said["limit"])
        assert told == ("below_limit", n + 1, n + 1, 10)
        behind = f"It is at place {n + 1}, behind the 10 that were asked for."
        assert said["explanation"] == behind


def test_a_place_is_that_of_the_answer_whatever_a_branch_brings_now(logbook):
    """Of both branches, as they were fused: not of the one that brings the entry."""
    # Nearer in meaning the more it repeats itself, and by words at about six times.
    said = ("klystron fault ", "water ")
    logbook.write(
        *(draft(f"n{n}", said[0] * (n + 1) + said[1] * 30 + str(n)) for n in range(70))
    )
    plan = logbook.plan("klystron AND fault", mode="hybrid")
    told = logbook.carried_out(plan)
    wide = replace(plan, window=1000)
    whole = fold.group_runs(logbook.conclude(wide, told).ranked)
    places = {run[0].entry_id: place for place, run in enumerate(whole, 1)}
    assert len(places) > plan.window
    job = logbook.ended(plan, told)
    left_out = {one for one in places if places[one] > plan.window}

    def found() -> dict[str, Any]:
        told = {one: why(logbook, job, one) for one in left_out}
        assert {one["gate"] for one in told.values()} == {"outside_candidates"}
        return {entry_id: one["value"] for entry_id, one in told.items()}

    assert found() == {one: places[one] for one in left_out}
    # The place is the one it had, also when others are gone since.
    with connection(logbook.pool) as conn:
        for entry_id in sorted(places, key=lambda one: places[one])[:20]:
            tombstone(conn, "default", UUID(entry_id), reason=None, stages=[])
    assert found() == {one: places[one] for one in left_out}


def test_what_stands_behind_its_thread_is_collapsed_into_who_stands_for_it(logbook):
    replies = [draft(f"r{n}", f"undulator {n}", reply_to="first") for n in range(12)]
    ids = logbook.write(draft("first", "undulator undulator"), *replies)
    plan = logbook.plan("undulator", by_thread=True)
    job = logbook.ended(plan)
    told = {name: why(logbook, job, name) for name in ids}
    gates = Counter(one["gate"] for one in told.values())
    assert gates == {"returned": 1, "collapsed_into": 12}
    (shown,) = [one for one in told.values() if one["returned"]]
    # Of a few it is said who stands before them; the others are many like them.
    before = Counter(one["value"] for one in told.values() if not one["returned"])
    assert before == {shown["entry_id"]: fold.SPARE_COPIES - 1, None: 3}
    apart = logbook.ended(logbook.plan("undulator"))
    assert why(logbook, apart, "r11")["gate"] in {"returned", "below_limit"}


def test_what_a_model_had_no_place_to_read_is_told(logbook):
    class Reading:
        late = False

        def logits(
            self, query: str, texts: Sequence[str], seconds: float
        ) -> list[float]:
            assert (query, seconds > 0) == ("klystron", True)
            return [3.0 - 1.2 * n for n, _ in enumerate(texts)]

    logbook.write(*(draft(f"k{n}", f"klystron {n}" + " fault" * n) for n in range(6)))

    def gates(**ordering: Any) -> dict[str, int]:
        plan = logbook.plan("klystron", limit=3)
        known = replace(plan.ordering, by_model=True, model_window=4, **ordering)
        job = logbook.ended(replace(plan, ordering=known), None, Reading())
        told = [why(logbook, job, f"k{n}") for n in range(6)]
        unread = [one for one in told if one["gate"] == "outside_rerank_window"]
        assert sorted((one["value"], one["limit"]) for one in unread) == [
            (5, 4),
            (6, 4),
        ]
        return Counter(one["gate"] for one in told)

    # In the window behind what was read, or cut with the score of the last of those.
    kept = gates(min_relevance_score=0.0)
    assert kept == {"returned": 3, "below_limit": 1, "outside_rerank_window": 2}
    cut = gates()
    assert cut == {"returned": 3, "below_min_relevance": 1, "outside_rerank_window": 2}


def test_a_score_that_was_too_low_is_told_beside_what_was_needed(logbook):
    plain = logbook.ask("cavity")["results"][0]["relevance_score"]
    least = {"min_relevance_score": 0.99}
    said = asked(logbook, "cavity", "trip", ordering=least)
    assert (said["gate"], said["limit"]) == ("below_min_relevance", 0.99)
    assert said["value"] == pytest.approx(plain)
    doubtful = {"strict": True, "saturation": {"ts_rank": 1.0}}
    said = asked(logbook, "cavity elsewhere", "trip", ordering=doubtful)
    assert (said["gate"], said["limit"]) == ("below_confidence", 0.5)


def test_what_stands_behind_its_copies_its_source_or_the_limit_is_told(logbook):
    many = [draft(f"k{n}", f"klystron {'fault ' * (4 - n)}") for n in range(4)]
    other = draft("other", "one klystron among many other words", source="shift")
    logbook.write(*many, other)
    job = logbook.ended(logbook.plan("klystron", limit=2))
    told = {name: why(logbook, job, name) for name in ("k0", "k1", "k2", "k3", "other")}
    gates = sorted(one["gate"] for one in told.values())
    assert gates == ["below_limit"] * 3 + ["returned"] * 2
    places = sorted(one["rank"] for one in told.values())
    assert places == [1, 2, 3, 4, 5]


def test_a_share_of_its_source_that_is_full_is_told(logbook):
    logbook.write(
        *(draft(f"k{n}", f"klystron klystron {n}") for n in range(4)),
        draft("other", "one klystron among many other words", source="shift"),
    )
    given = {"source_share": 0.5}
    job = logbook.ended(logbook.plan("klystron", limit=2, ordering=given))
    gates = [why(logbook, job, f"k{n}")["gate"] for n in range(4)]
    assert sorted(gates) == ["below_limit", "below_limit", "returned", "source_cap"]
    assert why(logbook, job, "other")["gate"] == "returned"


def test_a_branch_that_failed_is_the_gate(logbook):
    plan = logbook.plan("klystron", mode="hybrid")
    told = logbook.carried_out(plan)
    told[1] = [outcome.make_failure("semantic", "cosine", OpenSearchError())]
    said = why(logbook, logbook.ended(plan, told), "trip")
    assert said["gate"] == "branch_failed:semantic"
    assert [one["gate"] for one in said["branches"]] == [
        "no_match",
        "branch_failed:semantic",
    ]


def test_a_branch_that_had_nothing_to_do_is_not_said_to_have_failed(logbook):
    plan = logbook.plan("klystron", mode="hybrid")
    told = logbook.carried_out(plan)
    skipped = {"hits": (), "status": "skipped", "candidates": 0, "kept": 0}
    for reason, because in (
        ("empty_query", "there is no word in the question"),
        ("language", "its model does not know the language of the question"),
    ):
        told[1] = [replace(one, **skipped, reason=reason) for one in told[1]]
        said = why(logbook, logbook.ended(plan, told), "trip")
        assert said["gate"] == "no_match"
        words = f"It does not have 'klystron'. semantic did not search: {because}."
        assert said["explanation"] == words
    # What has no model yet is searched once it has one.
    told[1] = [replace(one, reason="no_model") for one in told[1]]
    said = why(logbook, logbook.ended(plan, told), "trip")
    assert said["gate"] == "branch_failed:semantic"


def test_of_two_branches_the_nearer_miss_is_told(logbook):
    given = {"similarity_threshold": 0.999}
    said = asked(logbook, "klystron cavity", "pump", mode="hybrid", ordering=given)
    assert [one["gate"] for one in said["branches"]] == ["no_match", "below_similarity"]
    assert said["gate"] == "below_similarity"


def test_what_was_written_after_the_search_is_said_to_be(logbook):
    job = logbook.ended(logbook.plan("klystron"))
    logbook.write(draft("later", "klystron"))
    assert why(logbook, job, "later")["gate"] == "not_indexed"


def test_nothing_asked_is_no_match(logbook):
    said = asked(logbook, "", "trip")
    assert (said["gate"], said["explanation"]) == ("no_match", "Nothing was asked for.")
    # A question of negations alone is a listing, and keeps to them.
    said = asked(logbook, "-tripped", "trip")
    assert said["gate"] == "no_match"
    assert said["explanation"] == "It has 'tripped', which is excluded."


def test_a_bare_number_that_two_entries_have_is_refused(logbook):
    logbook.write(draft("trip", "another", source="shift"))
    with pytest.raises(InvalidRequestError, match="operations/trip, shift/trip"):
        asked(logbook, "cavity", "trip")
