"""Counts beside the hits equal a count by hand, in both engines and for each reader."""

import json
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from opensearchpy import OpenSearch

from local.server import Server
from shared.access.scope import Scope
from shared.embedding.models.hashing_encoder import HashingEncoder
from shared.enrich import metadata
from shared.entries.draft import EntryDraft
from shared.entries.reading import read_entries
from shared.entries.saving.save import save_page, tombstone
from shared.opensearch import bulk, documents, mapping
from shared.opensearch.documents import Document
from shared.postgres.pool import Pool, connect, connection, make_pool
from shared.search.export.stream import Export
from shared.search.query.fault import Fault
from shared.search.query.plan import Plan, PlanLimits, SearchQuery, make_plan
from shared.search.response.search import count_facets
from shared.search.retrieval.branch import branch_run
from shared.search.retrieval.branch.branch_run import Branch
from shared.search.retrieval.engines import revoked_entries
from shared.search.retrieval.installed_modules import find_module
from shared.search.retrieval.module_contract import Ask, ModuleResult
from shared.search.retrieval.search_context import Freshness, SearchContext
from shared.times.calendar import Clock
from shared.vocabulary.learn_words import SeenWords
from tests.support.ended_searches import body_of
from tests.support.faults.measures.size import times
from tests.support.fixtures.asking import SIGNER
from tests.support.fixtures.servers import copied
from tests.support.saving import save_drafts
from tests.support.waiting import until

FACETS = ("source", "logbook", "author", "tags", "kind", "level", "origin", "date")
ANNA, BEN = Scope("default", "anna", ("ops",)), Scope("default", "ben")
SHIFT = Scope("default", "anna", logbooks=("shift",))
ELSEWHERE = Scope("elsewhere", "anna", ("ops",))
CALLERS = (ANNA, BEN, SHIFT, ELSEWHERE)
COUNT = times(80, 160)
# Each with what it comes to by hand, of an entry's words and tags.
QUESTIONS: dict[str, Callable[[set[str]], bool]] = {
    "beam": lambda has: "beam" in has,
    "beam pump": lambda has: {"beam", "pump"} <= has,
    "beam -vacuum": lambda has: "beam" in has and "vacuum" not in has,
    "beam OR klystron": lambda has: bool({"beam", "klystron"} & has),
    "pump tag:rf": lambda has: {"pump", "tag:rf"} <= has,
    "tag:rf": lambda has: "tag:rf" in has,
    "-vacuum": lambda has: "vacuum" not in has,
    "klystron": lambda has: "klystron" in has,
}


def drafts(luck: random.Random) -> list[EntryDraft]:
    words = ("beam", "pump", "vacuum", "klystron", "quiet")
    begun = datetime(2026, 1, 5, tzinfo=UTC)
    return [
        EntryDraft(
            source=luck.choice(("api", "operations")),
            external_id=f"E-{number}",
            text=" ".join(luck.sample(words, luck.randrange(1, 4))),
            kind=luck.choice(("logbook", "incident")),
            level=luck.choice((None, "Warning", "warning", "Info")),
            logbooks=luck.choice(((), ("shift",), ("shift", "rf"))),
            tags=luck.choice(((), ("RF",), ("rf", "RF", "vac"))),
            authors=luck.choice((("J. Ruiz",), ("A. Chen", "J. Ruiz"), ())),
            readers=luck.choice((None, None, None, ("ben",), ("ops",), ())),
            visible_from=luck.choice(
                (None, None, None, datetime(2199, 1, 1, tzinfo=UTC))
            ),
            entry_time=begun + timedelta(seconds=luck.randrange(40 * 86_400)),
        )
        for number in range(COUNT)
    ]


Written = dict[str, list[tuple[UUID, EntryDraft]]]


@dataclass
class Shelf:
    """Entries of two facilities, what both engines have of them, counts by hand."""

    pool: Pool
    context: SearchContext
    written: Written

    def plan(self, query: str, scope: Scope = ANNA, **fields: Any) -> Plan:
        limits = replace(fields.pop("limits", PlanLimits()), facet_budget_ms=30_000)
        question = SearchQuery(query, facets=FACETS, **fields)
        clock = Clock(zone="Europe/Zurich")
        return Plan.from_json(make_plan(question, scope, limits, clock).to_json())

    def counted(self, engine: str, plan: Plan) -> ModuleResult:
        # Each time anew: the one of a process keeps its answer for a second.
        context = replace(self.context, freshness=Freshness(time.monotonic))
        if engine == "postgres":
            context = replace(context, opensearch=lambda: None)
        return find_module("facets").execute(Ask.lasting(plan, 30.0), context)

    def index(self, loaded: Sequence[Document]) -> None:
        client = self.context.opensearch()
        assert client is not None
        assert not bulk.write(client, mapping.write_alias(self.context.index), loaded)
        client.indices.refresh(index=mapping.read_alias(self.context.index))

    def by_hand(self, query: str, scope: Scope) -> list[EntryDraft]:
        mine = {scope.subject, *scope.groups}
        return [
            one
            for _, one in self.written[scope.tenant]
            if QUESTIONS[query](
                {*one.text.split(), *(f"tag:{tag.lower()}" for tag in one.tags)}
            )
            and (one.readers is None or mine & set(one.readers))
            and one.visible_from is None
            and (scope.logbooks is None or set(scope.logbooks) & set(one.logbooks))
        ]


def expected(entries: Sequence[EntryDraft]) -> dict[str, Counter[str]]:
    return {
        "source": Counter(one.source for one in entries),
        "logbook": Counter(v for one in entries for v in set(one.logbooks)),
        "author": Counter(v for one in entries for v in set(one.authors)),
        "tags": Counter(v for one in entries for v in {t.lower() for t in one.tags}),
        "kind": Counter(one.kind for one in entries),
        "level": Counter(one.level.lower() for one in entries if one.level),
        "origin": Counter("human" for _ in entries),
    }


def check(told: ModuleResult, entries: Sequence[EntryDraft], about: str) -> None:
    assert told.counts is not None, about
    assert told.matches == len(entries), about
    for name, values in expected(entries).items():
        facet = told.counts[name]
        found = {one["value"]: one["count"] for one in facet["values"]}
        assert (found, facet["exact"]) == (dict(values), True), f"{name}, {about}"
        counts = [one["count"] for one in facet["values"]]
        assert counts == sorted(counts, reverse=True)
    buckets = told.counts["date"]["buckets"]
    for one in buckets:
        since, until = (datetime.fromisoformat(one[end]) for end in ("from", "to"))
        inside = [e for e in entries if e.entry_time and since <= e.entry_time < until]
        assert one["count"] == len(inside), f"{one}, {about}"
    assert sum(one["count"] for one in buckets) == len(entries), about
    assert len(buckets) <= 60


@pytest.fixture(scope="module")
def filled(postgres: Server, template: str) -> Iterator[tuple[str, Written]]:
    """A database with these entries, which each test copies, and what they are."""
    found: Written = {}
    with copied(postgres, template) as address:
        with make_pool(address, application="test", size=1) as pool:
            for seed, tenant in enumerate(("default", "elsewhere")):
                made = drafts(random.Random(seed))
                with connection(pool) as conn:
                    ids = save_drafts(conn, made, tenant=tenant)
                    contents = read_entries.load_contents(conn, tenant, ids)
                    for content in contents.values():
                        read = metadata.extract(content, "en")
                        metadata.store(conn, content, read, SeenWords())
                found[tenant] = list(zip(ids, made, strict=True))
        yield address.rsplit("/", 1)[1], found


@pytest.fixture
def database(postgres: Server, filled: tuple[str, Written]) -> Iterator[str]:
    with copied(postgres, filled[0]) as address:
        yield address


@pytest.fixture
def shelf(database, filled, search_client, own_index) -> Iterator[Shelf]:
    with make_pool(database, application="test", size=4) as pool:
        context = SearchContext(
            pool=pool,
            signer=lambda: SIGNER,
            opensearch=lambda: search_client,
            index=own_index,
            encoder=lambda _: HashingEncoder(),
        )
        made = Shelf(pool, context, filled[1])
        for tenant, entries in made.written.items():
            with connection(pool) as conn:
                made.index(documents.load(conn, tenant, [one for one, _ in entries]))
        yield made


ENGINES = ("opensearch", "postgres")


@pytest.mark.requirement("U06")
def test_facets_of_every_question_and_caller_equal_a_count_by_hand(shelf):
    seen = Counter[str]()
    for query in QUESTIONS:
        for scope in CALLERS:
            entries = shelf.by_hand(query, scope)
            plan = shelf.plan(query, scope)
            for engine in ENGINES:
                about = f"{engine}: {query!r} by {scope.subject}"
                if entries:
                    check(shelf.counted(engine, plan), entries, about)
                seen["some" if entries else "none"] += 1
    assert seen["some"] >= 2 * len(QUESTIONS) * 3, seen


@pytest.mark.requirement("P10", "S4-19")
@pytest.mark.parametrize("most", [revoked_entries.MAX_IDS, 3])
def test_counts_leave_out_what_the_caller_lost_while_no_index_worker_runs(
    shelf, monkeypatch, most
):
    monkeypatch.setattr(revoked_entries, "MAX_IDS", most)
    before = shelf.by_hand("beam", ANNA)
    lost = before[:6]
    kept = {one.external_id for one in lost[3:]}
    with connection(shelf.pool) as conn:
        for entry_id, one in shelf.written["default"]:
            if one in lost[:3]:
                tombstone(conn, "default", entry_id, reason=None, stages=["index"])
        closed = [replace(one, readers=("ben",)) for one in lost[3:]]
        save_page(conn, "default", closed, stages=["index"], editor="test")
    plan = shelf.plan("beam")
    left = [one for one in before if one not in lost]
    for engine in ENGINES:
        check(shelf.counted(engine, plan), left, engine)
    # Whoever may read them still counts them.
    ben = Scope("default", "ben", ("ops",))
    by_postgres = shelf.counted("postgres", shelf.plan("beam", ben))
    names = {one.external_id for one in shelf.by_hand("beam", ben)} | kept
    names -= {one.external_id for one in lost[:3]}
    assert by_postgres.matches == len(names)


@pytest.mark.requirement("P10", "U21", "S4-19")
def test_an_embargo_that_was_changed_before_its_end_counts_as_it_is_now(shelf):
    """The index has not heard of it, and sees the end that there was first."""
    before = shelf.by_hand("beam", ANNA)
    opens = datetime.now(UTC) + timedelta(seconds=5)
    held = [
        EntryDraft("api", name, "beam", visible_from=opens, entry_time=opens)
        for name in ("prolonged", "closed", "moved")
    ]
    with connection(shelf.pool) as conn:
        saved = save_page(conn, "default", held, stages=[], editor="test")
        ids = [one.entry_id for one in saved]
        for content in read_entries.load_contents(conn, "default", ids).values():
            metadata.store(conn, content, metadata.extract(content, "en"), SeenWords())
        loaded = documents.load(conn, "default", ids)
    shelf.index(loaded)
    prolonged, closed, moved = held
    changed = [
        replace(prolonged, visible_from=datetime(2199, 1, 1, tzinfo=UTC)),
        replace(closed, readers=("ben",)),
        replace(moved, visible_from=None, readers=()),
    ]
    with connection(shelf.pool) as conn:
        save_page(conn, "default", changed, stages=["index"], editor="test")
        past = conn.execute(
            "SELECT past_readers FROM entry WHERE id = ANY (%s)", (ids,)
        ).fetchall()
    # Nobody had seen them yet when they were changed.
    assert past == [(["-"],)] * 3
    until(lambda: datetime.now(UTC) > opens, within_seconds=10, what="its end")
    for engine in ENGINES:
        check(shelf.counted(engine, shelf.plan("beam")), before, engine)


def test_what_was_set_aside_before_the_index_is_counted_by_postgres(shelf):
    _, one = shelf.written["default"][0]
    more = EntryDraft("api", "late", "beam pump vacuum", entry_time=one.entry_time)
    with connection(shelf.pool) as conn:
        (saved,) = save_page(conn, "default", [more], stages=[], editor="test")
        contents = read_entries.load_contents(conn, "default", [saved.entry_id])
        for content in contents.values():
            metadata.store(conn, content, metadata.extract(content, "en"), SeenWords())
        conn.execute(
            "INSERT INTO quarantine (id, tenant, entry_id, stage, error)"
            " VALUES (uuidv7(), 'default', %s, 'index', '{}')",
            (saved.entry_id,),
        )
    told = shelf.counted("opensearch", shelf.plan("beam"))
    assert told.matches == len(shelf.by_hand("beam", ANNA)) + 1


def test_postgres_says_where_it_stopped_counting(shelf):
    matches = len(shelf.by_hand("beam", ANNA))
    for most, exact in ((matches, True), (matches - 1, False)):
        plan = shelf.plan("beam", limits=PlanLimits(facet_max_matches=most))
        told = shelf.counted("postgres", plan)
        assert told.counts is not None
        assert {one["exact"] for one in told.counts.values()} == {exact}
        # The index counts them all.
        check(shelf.counted("opensearch", plan), shelf.by_hand("beam", ANNA), "index")


def test_postgres_counts_while_the_index_does_not_answer(shelf):
    nowhere = OpenSearch(hosts=["http://127.0.0.1:1"], max_retries=0)
    shelf.context = replace(shelf.context, opensearch=lambda: nowhere)
    plan = shelf.plan("beam")
    check(shelf.counted("opensearch", plan), shelf.by_hand("beam", ANNA), "down")


def test_counts_alone_are_none_where_they_fail_and_empty_where_none_are_asked_for(
    shelf,
):
    def count(**fields: Any) -> dict[str, Any] | None:
        return count_facets(shelf.context, replace(shelf.plan("beam"), **fields))

    counts = count()

    assert counts == shelf.counted("opensearch", shelf.plan("beam")).counts
    assert count(fault=Fault("facets", error="opensearch_unavailable")) is None
    assert count(branches=()) == {}


def test_what_is_misspelt_is_counted_as_it_is_found(shelf):
    for engine in ENGINES:
        told = shelf.counted(engine, shelf.plan("klistron"))
        check(told, shelf.by_hand("klystron", ANNA), engine)


@pytest.mark.requirement("I14")
def test_all_that_match_are_counted_and_written_as_a_count_by_hand_has_them(
    shelf, database
):
    for query in QUESTIONS:
        for scope in CALLERS:
            entries = shelf.by_hand(query, scope)
            plan = shelf.plan(query, scope, exhaustive=True)
            told = find_module("newest").execute(Ask.lasting(plan, 30.0), shelf.context)
            about = f"{query!r} by {scope.subject}"
            assert (told.matches, told.counted) == (len(entries), True), about
            *rows, last = written(database, plan)
            assert last == {"complete": True, "rows": len(entries)}, about
            names = sorted(row["external_id"] for row in rows)
            assert names == sorted(one.external_id for one in entries), about


@pytest.mark.parametrize(
    ("query", "most", "code"),
    [
        ("beam " + "a" * 1000, 64, "query_truncated"),
        ("beam OR pump OR vacuum", 2, "terms_dropped"),
    ],
)
def test_what_is_found_by_a_question_that_was_cut_is_never_called_complete(
    shelf, database, query, most, code
):
    limits = PlanLimits(max_terms=most)
    for facets in ((), ("source",)):
        asked = SearchQuery(query, mode="keyword", exhaustive=True, facets=facets)
        plan = make_plan(asked, ANNA, limits)
        found = {
            number: branch_run.carry_out(
                Branch(plan, name, time.monotonic() + 10, time.monotonic), shelf.context
            )
            for number, name in enumerate(plan.branches)
        }
        answer = body_of(shelf.context, plan, found)
        assert code in {note["code"] for note in answer["diagnostics"]}
        assert (answer["state"], answer["complete"]) == ("done", False)
        assert answer["total_candidates"]["exact"] is False
        assert {one["exact"] for one in answer["facets"].values()} <= {False}
        assert len(answer["facets"]) == len(facets)
    *_, last = written(database, plan)
    assert (last["complete"], last["diagnostics"]) == (False, [code])


def test_a_file_leaves_out_what_was_closed_while_it_was_on_its_way(shelf, database):
    entries = shelf.by_hand("beam", ANNA)
    export = export_of(database, shelf.plan("beam", exhaustive=True))
    gone, closed = entries[:2]
    with connection(shelf.pool) as conn:
        for entry_id, one in shelf.written["default"]:
            if one is gone:
                tombstone(conn, "default", entry_id, reason=None, stages=[])
        narrowed = replace(closed, readers=("ben",))
        save_page(conn, "default", [narrowed], stages=[], editor="test")
    rows = [json.loads(line) for line in "".join(export.parts()).splitlines()]
    export.close()
    names = {row["external_id"] for row in rows[:-1]}
    assert names == {one.external_id for one in entries[2:]}
    assert rows[-1] == {"complete": True, "rows": len(entries) - 2}


def written(database: str, plan: Plan) -> list[dict[str, Any]]:
    export = export_of(database, plan)
    lines = "".join(export.parts()).splitlines()
    export.close()
    return [json.loads(line) for line in lines]


def export_of(database: str, plan: Plan) -> Export:
    conn = connect(database, application="test", autocommit=True)
    export = Export(conn, plan, "jsonl")
    with make_pool(database, application="test", size=1) as pool:
        export.find(Ask.lasting(plan, 30.0), SearchContext(pool=pool))
    return export


@pytest.mark.requirement("I14")
def test_a_count_that_was_cut_by_time_says_that_it_is_not_complete(shelf, monkeypatch):
    plan = make_plan(SearchQuery("beam", exhaustive=True), ANNA, PlanLimits())

    def answered() -> dict[str, Any]:
        ends_at = time.monotonic() + 1.5
        branch = Branch(plan, "newest", ends_at, time.monotonic)
        found = branch_run.carry_out(branch, shelf.context)
        return body_of(shelf.context, plan, {0: found})

    matches = len(shelf.by_hand("beam", ANNA))
    whole = answered()
    assert (whole["complete"], whole["total_candidates"]) == (
        True,
        {"lower_bound": matches, "exact": True},
    )
    slow = "SELECT count(*) FROM matched, pg_sleep(30)"
    monkeypatch.setattr("shared.search.retrieval.modules.newest._COUNT", slow)
    cut = answered()
    assert (cut["state"], cut["complete"]) == ("done", False)
    assert cut["total_candidates"]["exact"] is False
    assert len(cut["results"]) == plan.limit
