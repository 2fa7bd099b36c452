"""What ranking reads beside the hits, and who stands behind whom; on Postgres."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from local.server import Server
from shared.access.scope import Scope
from shared.embedding.vectors import moved_question, vector_tables, vectors
from shared.embedding.vectors.vector_tables import ensure_table
from shared.enrich.duplicates import place_entry
from shared.entries.draft import EntryDraft
from shared.entries.saving.save import tombstone
from shared.postgres.pool import connection
from shared.search.jobs.outcome import Outcome
from shared.search.query.context import ranking_context
from shared.search.query.ordering import NAMED
from shared.search.query.plan import Plan
from shared.search.ranking import fold
from shared.search.ranking.candidate_facts import Facts
from shared.search.results import ranking_features
from shared.search.results.conclude import conclude
from shared.search.results.result_page import read_page
from shared.text.facility import devices
from shared.text.facility.facility import PLAIN
from tests.support.ended_searches import body_of
from tests.support.fixtures.asking import ANNA, BEN, CLOCK, ENCODER, Asking, asking_of
from tests.support.fixtures.servers import copied

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
STORY = (
    "Vacuum burst in sector four during the morning fill, the gate valve closed by"
    " itself, both ion pumps were restarted by hand and the beam was back by noon"
)


def pulse(number: int, **fields: Any) -> EntryDraft:
    at = NOON + timedelta(minutes=number)
    text = f"Vacuum interlock of pump 7 at {number} mbar"
    return EntryDraft(
        "archiver", f"p{number:03d}", text, entry_time=at, origin="machine", **fields
    )


ENTRIES = (
    *(pulse(number) for number in range(60)),
    pulse(61, readers=("ben",)),
    EntryDraft("api", "story", STORY),
    EntryDraft("api", "closed story", STORY, readers=("ben",)),
    EntryDraft("shift", "copied story", STORY),
    EntryDraft("api", "quiet", "Nothing of note in the control room tonight"),
)


@dataclass
class World(Asking):
    """These entries, each in its place among its like, asked by words and meaning."""

    ids: dict[str, UUID]

    def plan(self, query: str, scope: Scope = ANNA, **fields: Any) -> Plan:
        return super().plan(query, scope, **{"mode": "hybrid", **fields})


def flat(told: dict[int, list[Outcome]]) -> Sequence[Outcome]:
    return [outcome for branch in told.values() for outcome in branch]


@pytest.fixture(scope="module")
def written(postgres: Server, template: str) -> Iterator[tuple[str, dict[str, UUID]]]:
    """A database with these entries, which each test copies, and their ids."""
    with copied(postgres, template) as address:
        with asking_of(address) as asking:
            ids = asking.write(*ENTRIES)
            for entry_id in ids.values():
                with connection(asking.pool) as conn:
                    place_entry.place(conn, "default", entry_id)
        yield address.rsplit("/", 1)[1], ids


@pytest.fixture
def world(postgres: Server, written: tuple[str, dict[str, UUID]]) -> Iterator[World]:
    name, ids = written
    with copied(postgres, name) as address, asking_of(address) as asking:
        yield World(asking.pool, asking.context, ids)


@pytest.mark.requirement("U26")
def test_a_human_hit_stands_among_the_first_beside_a_series_that_is_counted(world):
    body = world.ask("vacuum pump")
    assert len([one for one in ENTRIES if one.origin == "machine"]) > 0.9 * len(ENTRIES)
    first = body["results"][:3]
    assert {"human", "machine"} == {one["origin"] for one in first}
    (series,) = [one for one in body["results"] if one["origin"] == "machine"]
    # All sixty that she may see, the first of them shown.
    assert series["similar_count"] == 59
    assert series["factors"] == {"origin": 0.7}
    (of_ben,) = [
        one
        for one in world.ask("vacuum pump", BEN)["results"]
        if one["origin"] == "machine"
    ]
    assert of_ben["similar_count"] == 60


def test_a_copy_that_the_caller_may_not_see_hides_and_counts_nothing(world):
    told = world.ask("beam back by noon")
    stories = [one for one in told["results"] if "story" in one["external_id"]]
    assert [one["similar_count"] for one in stories] == [1]
    assert stories[0]["external_id"] in {"story", "copied story"}
    (ben,) = [
        one
        for one in world.ask("beam back by noon", BEN)["results"]
        if "story" in one["external_id"]
    ]
    assert ben["similar_count"] == 2

    # Gone between the search and the page: a copy takes its place.
    plan = world.plan("beam back by noon")
    arrived = world.carried_out(plan)
    ended = world.conclude(plan, arrived)
    with connection(world.pool) as conn:
        best = world.ids[stories[0]["external_id"]]
        tombstone(conn, "default", best, reason=None, stages=[])
    page = read_page(world.pool, plan, fold.group_runs(ended.ranked), 1000)
    (left,) = [one for one in page if "story" in one.row.external_id]
    assert left.row.external_id != stories[0]["external_id"]
    assert left.similar == 0


def test_the_cosines_of_what_only_words_found_are_read_before_it_is_ranked(world):
    plan = world.plan("vacuum", ordering={"similarity_threshold": 0.9})
    told = world.carried_out(plan)
    assert [outcome.status for outcome in flat(told)] == ["ok", "empty"]
    known = ranking_features.load_ranking_features(
        world.context, plan, flat(told), 1000
    )
    found = {hit.entry_id for outcome in flat(told) for hit in outcome.hits}
    assert found == known.cosines.keys()
    vector = ENCODER.encode(["vacuum"])[0]
    with connection(world.pool) as conn:
        model = vector_tables.find_model(conn, ENCODER.model)
        assert model is not None
        ids = [UUID(one) for one in found]
        read = vectors.load_cosines(conn, model.table_name, "default", vector, ids)
    assert known.cosines == {str(one): cosine for one, cosine in read.items()}
    ended = conclude(plan, told, known)
    assert ended.order.reranked
    body = body_of(world.context, plan, told)
    assert body["thresholds_applied"] == {"similarity_threshold": 0.9}
    assert body["vector_model"] == ENCODER.model


def read_of(world: World, plan: Plan) -> Facts:
    return ranking_features.load_ranking_features(
        world.context, plan, flat(world.carried_out(plan)), 1000
    )


def test_a_question_moves_towards_the_best_three_that_people_wrote(world):
    plan = world.plan("vacuum pump")
    without = world.plan("vacuum pump", ordering={"feedback": 0.0})
    before = world.ask("vacuum pump", ordering={"feedback": 0.0})["results"]
    assert "machine" in {one["origin"] for one in before}
    best = [UUID(one["entry_id"]) for one in before if one["origin"] == "human"][:3]
    asked = ENCODER.encode(["vacuum pump"])[0]
    known = read_of(world, plan)
    ids = [UUID(one) for one in known.moved]
    with connection(world.pool) as conn:
        table = ensure_table(conn, "test", ENCODER.model, ENCODER.dimension)
        middles = [vectors.middle(conn, table, "default", one) for one in best]
        mean = np.mean([one for one in middles if one is not None], axis=0)
        moved = asked + 0.4 * mean
        expected = vectors.load_cosines(conn, table, "default", moved, ids)
    assert len(ids) > len(before)
    found = {UUID(one): cosine for one, cosine in known.moved.items()}
    assert found == pytest.approx(expected, abs=2e-3)
    # The same every time, and what was found is as near to the question as ever.
    assert read_of(world, plan) == known
    assert known.cosines == read_of(world, without).cosines
    body = world.ask("vacuum pump", debug=True)
    assert body["plan"]["feedback"] == 0.4
    assert all("question moved" in one["steps"][3] for one in body["score_trace"])
    assert {"cosine", "moved_cosine"} <= body["results"][0]["scores"].keys()


def test_a_model_that_is_known_already_is_not_asked_for_again(world, monkeypatch):
    plan = world.plan("vacuum pump", mode="hybrid")
    told, models = flat(world.carried_out(plan)), world.context.models
    read = ranking_features.load_ranking_features(world.context, plan, told, 1000)
    assert models.live() is not None
    assert models.named("another model") is None
    monkeypatch.delattr(vector_tables, "find_model")
    assert (
        ranking_features.load_ranking_features(world.context, plan, told, 1000) == read
    )
    assert read.moved


def test_what_the_caller_may_not_see_moves_no_question(world):
    ids = list(world.ids.values())
    seen = [world.ids["quiet"], world.ids["story"]]
    closed = world.ids["closed story"]
    asked = ENCODER.encode(["vacuum pump"])[0]
    with connection(world.pool) as conn:
        table = ensure_table(conn, "test", ENCODER.model, ENCODER.dimension)

        def moved(scope: Scope, best: Sequence[UUID]) -> dict[UUID, float]:
            return moved_question.cosines(
                conn, table, scope, asked, ids, best=best, share=0.4
            )

        alone = moved(ANNA, seen)
        assert moved(ANNA, [*seen, closed]) == alone
        assert moved(BEN, [*seen, closed]) != alone
        assert moved(ANNA, [closed]) == {}
        # Nor what was deleted after it was found.
        tombstone(conn, "default", world.ids["story"], reason=None, stages=[])
        assert moved(ANNA, seen) == moved(ANNA, seen[:1])


@pytest.mark.parametrize(
    ("query", "fields"),
    [
        ('"gate valve" closed', {}),
        ("vacuum pump", {"mode": "semantic"}),
        ("vacuum pump", {"ordering": {"feedback": 0.0}}),
        ("vacuum pump", {"ordering": {"rerank": False}}),
    ],
    ids=["phrase", "meaning_alone", "switched_off", "not_reranked"],
)
def test_a_question_stays_where_it_is_precise_or_nothing_is_weighed(
    world, query, fields
):
    known = read_of(world, world.plan(query, **fields))
    assert known.kin
    assert known.moved == {}


@pytest.mark.requirement("S4-21")
def test_who_names_a_thing_of_the_question_or_the_next_is_read_before_it_is_ranked(
    asking,
):
    table = "name,kind,system,aliases\nHCM02,device,,\nHCM03,device,,\n"
    own = replace(PLAIN, things=devices.parse_devices(table))
    ids = asking.write(
        EntryDraft("api", "named", "The corrector HCM-03 tripped after the fill"),
        EntryDraft("api", "next", "The corrector HCM 2 tripped after the fill"),
        EntryDraft("api", "far", "The corrector HCM04 tripped after the fill"),
        EntryDraft("api", "pv", "Corrector of SR:C01-MG:PS1 tripped after the fill"),
        EntryDraft("api", "like", "The corrector tripped after the fill"),
    )
    names = {str(entry_id): name for name, entry_id in ids.items()}
    every: dict[str, Any] = {
        "mode": "semantic",
        "ordering": {"similarity_threshold": 0.0},
    }

    def near(query: str) -> dict[str, bool]:
        plan = asking.plan(query, **every)
        plan = replace(
            plan, ordering=ranking_context.add_ranking_context(plan, own, CLOCK, {})
        )
        told = asking.carried_out(plan)
        assert {hit.entry_id for one in flat(told) for hit in one.hits} == {*names}
        body = asking.answer(plan, told)
        factors = {one["external_id"]: one["factors"] for one in body["results"]}
        known = ranking_features.load_ranking_features(
            asking.context, plan, flat(told), 5000
        ).near
        read = {names[one]: ways == {NAMED} for one, ways in known.items()}
        of = {
            name: {"entity_proximity": 1.2 if is_named else 1.1}
            for name, is_named in read.items()
        }
        assert factors == {one: of.get(one, {}) for one in ids}
        return read

    assert near("corrector HCM03 tripped") == {"named": True, "next": False}
    assert near("corrector HCM 02 tripped") == {"next": True, "named": False}
    assert near("corrector SR:C01-MG:PS1 tripped") == {"pv": True}
    assert near("corrector tripped") == {}


def test_with_no_time_left_nothing_is_read_and_the_answer_says_so(world):
    plan = world.plan("vacuum pump")
    told = world.carried_out(plan)
    late = ranking_features.load_ranking_features(world.context, plan, flat(told), 0)
    ended = conclude(plan, told, late)
    assert not ended.order.reranked
    assert [note.code for note in ended.order.notes] == ["rerank_skipped"]
    with connection(world.pool) as conn:
        conn.execute("LOCK TABLE likeness IN ACCESS EXCLUSIVE MODE")
        assert (
            ranking_features.load_ranking_features(world.context, plan, flat(told), 50)
            == late
        )


def test_the_order_is_stored_and_read_back_whole(world):
    from shared.search.response.job_answer import read_order

    plan = world.plan("vacuum pump", ordering={"min_relevance_score": 0.2})
    told = world.carried_out(plan)
    ended = world.conclude(plan, told)
    assert read_order(ended.window) == ended.order
    without = replace(ended, order=replace(ended.order, notes=()))
    assert read_order({"window": without.window["window"]}).items == ended.order.items
