"""Search modules on real engines: the same question finds the same entries."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from math import isclose
from typing import Any
from uuid import UUID

import pytest
from opensearchpy import OpenSearch

from shared.access.scope import Scope
from shared.embedding.models.hashing_encoder import HashingEncoder
from shared.entries.draft import EntryDraft
from shared.entries.saving.save import tombstone
from shared.errors import OpenSearchError
from shared.opensearch import bulk, documents, mapping
from shared.postgres.pool import connection
from shared.search.jobs.outcome import Outcome
from shared.search.query.fault import Fault
from shared.search.query.plan import Plan, PlanLimits, SearchQuery, make_plan
from shared.search.results.conclude import conclude
from shared.search.results.hydrate import hydrate
from shared.search.retrieval.branch import branch_run
from shared.search.retrieval.branch.branch_run import Branch
from shared.search.retrieval.circuit import Circuit
from shared.search.retrieval.installed_modules import find_module, list_modules
from shared.search.retrieval.module_contract import Ask
from shared.search.retrieval.modules import pg_fts
from shared.search.retrieval.search_context import Freshness, SearchContext
from tests.support.ended_searches import body_of
from tests.support.fixtures.asking import Asking
from tests.support.saving import save_drafts

ENCODER = HashingEncoder()
ANNA = Scope("default", "anna", ("ops",))
TAIL = "the ferrite absorber glowed"
ENTRIES = (
    EntryDraft("api", "trip", "RF cavity 3 tripped at noon"),
    EntryDraft("api", "name", "HCM-03 was replaced", kind="x"),
    EntryDraft(
        "operations",
        "vacuum",
        "Vacuum pump tripped, beam was lost",
        logbooks=("shift",),
    ),
    EntryDraft(
        "api",
        "german",
        "Das Kühlwasser der Anlage wurde heute Morgen abgelassen und erneuert",
    ),
    EntryDraft("api", "long", " ".join(f"calm{n}" for n in range(1200)) + f". {TAIL}."),
    EntryDraft("api", "secret", "secret trip", readers=("ben",)),
    EntryDraft("api", "closed", "closed trip", readers=()),
)


@dataclass
class World:
    """A small logbook in one database and, where asked for, in OpenSearch."""

    asking: Asking
    context: SearchContext
    ids: dict[str, UUID] = field(default_factory=dict)

    def write(self, *drafts: EntryDraft) -> None:
        self.ids |= self.asking.write(*drafts, language=None)

    def index(self, tenant: str) -> None:
        """Put every entry of a tenant into OpenSearch."""
        client, base = self.context.opensearch(), self.context.index
        assert client is not None
        with connection(self.asking.pool) as conn:
            rows = conn.execute("SELECT id FROM entry WHERE tenant = %s", (tenant,))
            loaded = documents.load(conn, tenant, [row[0] for row in rows])
        assert not bulk.write(client, mapping.write_alias(base), loaded)
        client.indices.refresh(index=mapping.read_alias(base))

    def plan(self, query: str, mode: str = "keyword", **fields: object) -> Plan:
        scope = fields.pop("scope", ANNA)
        question = SearchQuery(query, mode=mode, **fields)  # type: ignore[arg-type]
        return make_plan(question, scope, PlanLimits())  # type: ignore[arg-type]

    def found(self, name: str, query: str, **fields: object) -> list[str]:
        plan = self.plan(query, **fields)  # type: ignore[arg-type]
        found = find_module(name).execute(Ask.lasting(plan, 2.0), self.context)
        names = {str(entry_id): key for key, entry_id in self.ids.items()}
        hits = sorted(found.hits, key=lambda hit: (-hit.score, hit.chunk_id))
        return [names[hit.entry_id] for hit in hits]


def make_world(asking: Asking, client: OpenSearch | None, index: str) -> World:
    context = replace(asking.context, opensearch=lambda: client, index=index)
    made = World(asking, context)
    made.write(*ENTRIES)
    asking.write(EntryDraft("api", "trip", "RF tripped there"), tenant="elsewhere")
    return made


@pytest.fixture
def world(asking: Asking) -> World:
    return make_world(asking, None, "none")


@pytest.fixture
def both(asking: Asking, search_client, own_index) -> World:
    made = make_world(asking, search_client, own_index)
    made.index("default")
    made.index("elsewhere")
    return made


QUESTIONS = (
    ("tripped", {"trip", "vacuum"}),
    ("RF tripped", {"trip"}),
    ("trip", {"trip", "vacuum"}),
    ("hcm 3", {"name"}),
    ("HCM03 replaced", {"name"}),
    ("HCM03?", {"name"}),
    ("tripped -vacuum", {"trip"}),
    ("tripped NOT beam", {"trip"}),
    ('"beam was lost"', {"vacuum"}),
    ('"lost beam"', set[str]()),
    ("Kühlwasser", {"german"}),
    ("kuhlwasser OR cavity", {"german", "trip"}),
    ("ferrite absorber", {"long"}),
    ("pump cavity", {"trip", "vacuum"}),
    ("nonexistentword", set[str]()),
    ("???", set[str]()),
)


@pytest.mark.parametrize(("query", "expected"), QUESTIONS)
def test_postgres_finds_by_words_names_and_phrases(world, query, expected):
    assert set(world.found("pg_fts", query)) == expected


@pytest.mark.requirement("U17")
def test_one_question_means_the_same_in_both_engines(both):
    for query, expected in QUESTIONS:
        assert set(both.found("os_bm25", query)) == expected, query
        assert set(both.found("pg_fts", query)) == expected, query


@pytest.mark.parametrize("name", ["pg_fts", "semantic", "newest"])
def test_what_is_closed_to_the_caller_is_not_found(world, name):
    query = "" if name == "newest" else "trip"
    found = world.found(name, query, filters={"source": {"in": ["api", "operations"]}})
    assert "trip" in found or name == "semantic"
    assert not {"secret", "closed"} & set(found)
    ben = Scope("default", "ben")
    given = {"source": "api"}
    assert "secret" in world.found(name, query or "", scope=ben, filters=given) or (
        name == "semantic"
    )


def test_opensearch_shows_nobody_what_is_closed(both):
    assert set(both.found("os_bm25", "trip")) == {"trip", "vacuum"}
    ben = Scope("default", "ben")
    assert set(both.found("os_bm25", "trip", scope=ben)) == {"trip", "vacuum", "secret"}
    other = Scope("elsewhere", "anna")
    with pytest.raises(KeyError):
        both.found("os_bm25", "trip", scope=other)


@pytest.mark.parametrize("name", ["pg_fts", "os_bm25", "semantic"])
def test_filters_and_the_callers_logbooks_narrow_every_branch(both, name):
    assert both.found(name, "tripped", filters={"source": "operations"}) == ["vacuum"]
    assert both.found(name, "tripped", filters={"logbook": "shift"}) == ["vacuum"]
    assert both.found(name, "tripped", filters={"logbook": "none"}) == []
    narrowed = Scope("default", "anna", logbooks=("shift",))
    assert both.found(name, "tripped", scope=narrowed) == ["vacuum"]


@pytest.mark.requirement("U01")
@pytest.mark.parametrize("name", ["pg_fts", "os_bm25", "semantic"])
def test_a_deleted_entry_is_gone_at_once_with_no_index_worker_running(both, name):
    with connection(both.asking.pool) as conn:
        tombstone(conn, "default", both.ids["vacuum"], reason=None, stages=[])
    assert "vacuum" not in both.found(name, "tripped")


@pytest.mark.requirement("P10", "S4-19")
def test_what_the_caller_lost_takes_no_place_while_the_index_has_not_heard_of_it(both):
    plan = both.plan("tripped")
    (first, *_) = (
        find_module("os_bm25").execute(Ask.lasting(plan, 5.0), both.context).hits
    )
    ids = {str(entry_id): name for name, entry_id in both.ids.items()}
    best = ids[first.entry_id]
    (other,) = {"trip", "vacuum"} - {best}

    def only_one() -> list[str]:
        ask = replace(Ask.lasting(plan, 5.0), limit=1)
        # Each time anew: the one of a process keeps its answer for a second.
        context = replace(both.context, freshness=Freshness(time.monotonic))
        found = find_module("os_bm25").execute(ask, context)
        return [ids[hit.entry_id] for hit in found.hits]

    assert only_one() == [best]
    kept = next(one for one in ENTRIES if one.external_id == best)
    closed = replace(kept, readers=("ben",))
    with connection(both.asking.pool) as conn:
        # Its index work is due, and no worker of the index runs.
        save_drafts(conn, [closed], stages=["index"])
        conn.execute("UPDATE entry SET modified_at = now() - interval '1 h'")
        conn.execute("UPDATE work SET created_at = now() - interval '2 h'")
    assert only_one() == [other]

    with connection(both.asking.pool) as conn:
        tombstone(conn, "default", both.ids[other], reason=None, stages=["index"])
    assert only_one() == []

    # What was quarantined on its way to the index does not hold the watermark back.
    with connection(both.asking.pool) as conn:
        conn.execute("DELETE FROM work")
        conn.execute("UPDATE entry SET modified_at = now() - interval '1 h'")
        conn.execute(
            "INSERT INTO quarantine (id, tenant, entry_id, stage, error)"
            " SELECT uuidv7(), 'default', id, 'index', '{}' FROM entry"
            "  WHERE tenant = 'default'"
        )
    assert only_one() == []


def test_what_is_negated_is_excluded_by_meaning_too(world):
    assert "vacuum" in world.found("semantic", "tripped pump", mode="semantic")
    assert "vacuum" not in world.found(
        "semantic", "tripped pump -vacuum", mode="semantic"
    )


def test_a_question_of_negations_lists_the_rest_newest_first(world):
    found = world.found("newest", "-tripped")
    assert set(found) == {"name", "german", "long"}


@pytest.mark.requirement("C46")
def test_any_word_is_enough_when_no_entry_has_all_and_the_answer_says_so(world):
    plan = world.plan("pump cavity")
    found = find_module("pg_fts").execute(Ask.lasting(plan, 2.0), world.context)
    assert [note.code for note in found.diagnostics] == ["relaxed_to_any_term"]
    # Ranked by what it was found by, not by all words, of which it has too few.
    assert min(hit.score for hit in found.hits) > 1e-3


@pytest.mark.requirement("S0-27")
def test_what_has_one_of_two_words_ranks_and_of_a_common_word_the_newest_are_ranked(
    world, monkeypatch
):
    plan = world.plan("nonexistentword OR cavity")
    (hit,) = find_module("pg_fts").execute(Ask.lasting(plan, 2.0), world.context).hits
    assert hit.entry_id == str(world.ids["trip"])
    assert hit.score > 1e-3

    assert pg_fts.RANKED_MATCHES == 2000
    monkeypatch.setattr(pg_fts, "RANKED_MATCHES", 2)
    drafts = [
        EntryDraft(
            "api",
            f"common {hour}",
            "beam " * hour,
            entry_time=datetime(2030, 1, 1, hour, tzinfo=UTC),
        )
        for hour in (1, 3, 2)
    ]
    world.write(*drafts)
    assert set(world.found("pg_fts", "beam")) == {"common 2", "common 3"}


def carried_out(
    world: World, plan: Plan, name: str, *, seconds: float = 2.0
) -> list[Outcome]:
    ends = time.monotonic() + seconds
    branch = Branch(plan, name, ends, time.monotonic)
    return branch_run.carry_out(branch, world.context)


@pytest.mark.requirement("F22", "P5", "C07")
def test_full_text_takes_over_in_the_same_task_when_opensearch_is_down(world):
    nowhere = OpenSearch(hosts=["http://127.0.0.1:1"], max_retries=0)
    broken = replace(world, context=replace(world.context, opensearch=lambda: nowhere))
    plan = world.plan("tripped")
    down, instead = carried_out(broken, plan, "os_bm25")
    assert (down.status, down.error_code) == ("error", "opensearch_unavailable")
    assert (instead.name, instead.status) == ("pg_fts", "ok")
    assert instead.fallback_for == "os_bm25"


@pytest.mark.requirement("F22", "C07")
def test_the_circuit_opens_after_five_failures_and_probes_once_a_second(world):
    now = [100.0]
    circuit = Circuit(lambda: now[0])
    nowhere = OpenSearch(hosts=["http://127.0.0.1:1"], max_retries=0)
    context = replace(world.context, opensearch=lambda: nowhere, circuit=circuit)
    broken = replace(world, context=context)
    plan = world.plan("tripped")
    told = [carried_out(broken, plan, "os_bm25")[0] for _ in range(7)]
    assert [one.status for one in told] == ["error"] * 5 + ["skipped"] * 2
    assert told[-1].reason == "circuit_open"
    now[0] += 1.0
    told = [carried_out(broken, plan, "os_bm25")[0] for _ in range(2)]
    assert [one.status for one in told] == ["error", "skipped"]


def test_a_missing_index_is_an_error_and_never_empty(both):
    broken = replace(both, context=replace(both.context, index="absent"))
    first, second = carried_out(broken, both.plan("tripped"), "os_bm25")
    assert (first.status, second.status) == ("error", "ok")


@pytest.mark.requirement("I17")
def test_a_branch_past_its_end_is_late_without_being_tried(world):
    plan = world.plan("tripped")
    (late,) = carried_out(world, plan, "pg_fts", seconds=-1)
    assert (late.status, late.reason) == ("timeout", "expired_in_queue")


@pytest.mark.requirement("I27")
@pytest.mark.parametrize(
    ("fault", "status", "code"),
    [
        (Fault("keyword", empty=True), "empty", None),
        (Fault("*", error="opensearch_unavailable"), "error", "opensearch_unavailable"),
        (Fault("pg_fts", delay_ms=10_000), "timeout", "branch_timeout"),
        (Fault("semantic", empty=True), "ok", None),
    ],
)
def test_a_fault_that_was_asked_for_is_what_the_branch_comes_to(
    world, fault, status, code
):
    plan = replace(world.plan("tripped"), fault=fault)
    (told,) = carried_out(world, plan, "pg_fts", seconds=0.2)
    assert (told.status, told.error_code) == (status, code)


@pytest.mark.requirement("S1-03", "S1-37")
def test_a_fact_in_the_tail_of_a_long_entry_found_by_both_scores_two_sixty_firsts(both):
    plan = both.plan(TAIL, mode="hybrid")
    told = {n: carried_out(both, plan, name) for n, name in enumerate(plan.branches)}
    ended = conclude(plan, told)
    first = ended.ranked[0]
    assert first.entry_id == str(both.ids["long"])
    assert isclose(first.rrf, 2 / 61)
    body = body_of(both.context, plan, told)
    assert TAIL in body["results"][0]["content"]
    assert len(body["results"][0]["content"]) < 3000
    assert body["as_of"] is not None
    assert body["search_modes_used"] == ["keyword", "semantic", "hybrid"]


def highlighted(world: World, name: str, query: str) -> dict[str, list[str]]:
    plan = replace(world.plan(query), branches=(name,))
    body = body_of(world.context, plan, {0: carried_out(world, plan, name)})
    return {one["external_id"]: one["highlights"] for one in body["results"]}


@pytest.mark.requirement("S0-30")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (
            "trip OR hcm03",
            {
                "trip": ["RF cavity 3 <b>tripped</b> at noon"],
                "vacuum": ["Vacuum pump <b>tripped</b>, beam was lost"],
                "name": ["<b>HCM-03</b> was replaced"],
            },
        ),
        ("pum* -RF", {"vacuum": ["Vacuum <b>pump</b> tripped, beam was lost"]}),
        ("vacuun", {"vacuum": ["<b>Vacuum</b> pump tripped, beam was lost"]}),
        ("absorber", {"long": [f"{TAIL.replace('absorber', '<b>absorber</b>')}."]}),
    ],
    ids=["any, and a name", "a pattern", "misspelt", "in the tail"],
)
def test_a_highlight_is_the_same_whichever_engine_found_it(both, query, expected):
    shown = {name: highlighted(both, name, query) for name in ("pg_fts", "os_bm25")}
    assert shown["pg_fts"] == shown["os_bm25"] == expected


def hydrated(world: World, scope: Scope, names: Sequence[str]) -> set[str]:
    ids = [world.ids[name] for name in names]
    with connection(world.asking.pool) as conn:
        rows = hydrate(conn, ids, scope, 1000)
    return {row.external_id for row in rows.values()}


def test_a_page_shows_only_what_the_caller_may_see_whatever_a_branch_said(world):
    names = list(world.ids)
    everybody = {"trip", "name", "vacuum", "german", "long"}
    assert hydrated(world, ANNA, names) == everybody
    assert hydrated(world, Scope("default", "ben"), names) == {*everybody, "secret"}
    assert hydrated(world, Scope("elsewhere", "ben"), names) == set()
    shift = Scope("default", "ben", logbooks=("shift",))
    assert hydrated(world, shift, names) == {"vacuum"}


def answered(world: World, query: str) -> dict[str, Any]:
    question = SearchQuery(query, mode="hybrid")
    plan = make_plan(question, ANNA, PlanLimits(opensearch=False))
    told = {n: carried_out(world, plan, b) for n, b in enumerate(plan.branches)}
    body = body_of(world.context, plan, told)
    assert body["degraded"] is False
    named = [(one["name"], one["fallback_for"]) for one in body["branches"]]
    assert named == [("pg_fts", "os_bm25"), ("semantic", None)]
    return body


@pytest.mark.requirement("S4-02", "S4-80")
def test_ten_equal_questions_have_equal_hashes(world):
    bodies = [answered(world, "tripped OR replaced") for _ in range(10)]
    assert len({body["stability_hash"] for body in bodies}) == 1
    orders = [[one["entry_id"] for one in body["results"]] for body in bodies]
    assert orders == [orders[0]] * 10
    # Hits of several kinds stand in one list.
    assert len({one["kind"] for one in bodies[0]["results"]}) > 1


@pytest.mark.requirement("S4-80")
def test_the_same_entries_loaded_anew_have_the_same_hash(world):
    before = answered(world, "cavity tripped")
    ids = {*world.ids.values()}
    with connection(world.asking.pool) as conn:
        conn.execute("TRUNCATE entry CASCADE")
    world.write(*ENTRIES)
    after = answered(world, "cavity tripped")
    assert ids.isdisjoint(world.ids.values())
    assert before["results"]
    assert after["stability_hash"] == before["stability_hash"]


@pytest.mark.requirement("S4-80")
def test_what_is_unrelated_and_comes_meanwhile_moves_no_order(world):
    def order() -> list[str]:
        found = answered(world, "RF cavity tripped")["results"]
        assert found[0]["relevance_score"] > found[1]["relevance_score"] + 0.1
        return [one["external_id"] for one in found]

    before = order()
    drafts = [EntryDraft("api", f"new{n}", f"Coffee ran out, {n}") for n in range(20)]
    world.write(*drafts)
    assert [name for name in order() if not name.startswith("new")] == before


@pytest.mark.requirement("S1-04")
def test_a_rare_word_outweighs_a_common_one_in_opensearch_alone(both):
    common = ["beam " * 4 + name for name in ("one", "two", "six", "ten", "all")]
    drafts = [EntryDraft("api", f"common{n}", text) for n, text in enumerate(common)]
    drafts.append(EntryDraft("api", "rare", "thyratron swap"))
    both.write(*drafts)
    both.index("default")
    asked = "beam OR thyratron"
    assert both.found("os_bm25", asked)[0] == "rare"
    assert both.found("pg_fts", asked)[0].startswith("common")


def test_every_module_is_found_by_its_entry_point():
    assert {"os_bm25", "pg_fts", "semantic", "newest"} <= set(list_modules())


def test_opensearch_that_is_off_is_never_asked(world):
    with pytest.raises(OpenSearchError):
        world.found("os_bm25", "tripped")
