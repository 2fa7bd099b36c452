"""Entries asked for by their number: first in every engine, and only where allowed."""

import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from shared.access.scope import Scope
from shared.embedding.models.hashing_encoder import HashingEncoder
from shared.embedding.vectors import embed_entry
from shared.embedding.vectors.vector_tables import ensure_table
from shared.enrich import metadata
from shared.entries.draft import EntryDraft
from shared.entries.reading import read_entries
from shared.entries.saving.save import save_page, tombstone
from shared.opensearch import bulk, documents, mapping
from shared.postgres.pool import connection
from shared.search.query.plan import Plan, PlanLimits, SearchQuery, make_plan
from shared.search.ranking.ranked_hits import Ranked
from shared.search.results import ranking_features
from shared.search.results.conclude import conclude
from shared.search.retrieval.branch import branch_run
from shared.search.retrieval.branch.branch_run import Branch
from shared.search.retrieval.search_context import SearchContext
from tests.support.fixtures.engines import ANYBODY, TENANT, Logbook
from tests.support.saving import save_entry

ENCODER = HashingEncoder()
LATER = datetime.now(UTC) + timedelta(days=1)
DRAFTS = (
    # Its own text has not its number, and those of others have.
    EntryDraft("olog", "77234", "Quadrupole cooled down", logbooks=("ops",)),
    EntryDraft("olog", "OPS-77", "Orbit was corrected"),
    EntryDraft("elog", "77235", "One of two"),
    EntryDraft("olog", "77235", "The other of two"),
    EntryDraft("olog", "77236", "For ben alone", readers=("ben",)),
    EntryDraft("olog", "77237", "Not to be seen yet", visible_from=LATER),
    EntryDraft("olog", "77238", "Gone"),
    *(
        EntryDraft("api", f"said-{n}", f"see 77234, 77234 and OPS-77, pump {n}")
        for n in range(5)
    ),
)


class World:
    """A logbook in both engines, asked as workers ask it."""

    def __init__(self, logbook: Logbook) -> None:
        self.pool = logbook.pool
        # Where one engine knows of what another tenant has.
        with connection(self.pool) as conn:
            saved = save_page(conn, TENANT, list(DRAFTS), stages=[], editor="test")
            others = save_entry(
                conn, "88888", "Of others", tenant="elsewhere", source="olog"
            )
            ids = [one.entry_id for one in saved]
            table = ensure_table(conn, "test", ENCODER.model, ENCODER.dimension)
            for content in read_entries.load_contents(conn, TENANT, ids).values():
                metadata.store(conn, content, metadata.extract(content, "en"))
                embed_entry.store_all(
                    conn,
                    table,
                    content.tenant,
                    [(content, embed_entry.embed(content, ENCODER))],
                )
            (gone,) = (s.entry_id for s in saved if s.external_id == "77238")
            tombstone(conn, TENANT, gone, reason=None, stages=[])
            loaded = documents.load(conn, TENANT, ids)
        assert not bulk.write(
            logbook.client, mapping.write_alias(logbook.index), loaded
        )
        logbook.client.indices.refresh(index=mapping.read_alias(logbook.index))
        self.context = replace(logbook.context(), similarity_threshold=-1.0)
        self.names = {
            str(one.entry_id): f"{one.source}/{one.external_id}" for one in saved
        }
        self.names[str(others)] = "elsewhere"

    def ranked(
        self,
        query: str,
        *,
        mode: str = "keyword",
        scope: Scope = ANYBODY,
        engine: str = "os_bm25",
        filters: dict[str, Any] | None = None,
    ) -> list[Ranked]:
        limits = PlanLimits(opensearch=engine != "pg_fts")
        plan = make_plan(SearchQuery(query, mode=mode, filters=filters), scope, limits)
        plan = Plan.from_json(plan.to_json())
        context: SearchContext = self.context
        if engine == "away":
            context = replace(context, opensearch=lambda: None)
        ends = time.monotonic() + 5
        told = {
            number: branch_run.carry_out(
                Branch(plan, name, ends, time.monotonic), context
            )
            for number, name in enumerate(plan.branches)
        }
        heard = [one for branch in told.values() for one in branch]
        known = ranking_features.load_ranking_features(self.context, plan, heard, 5000)
        return list(conclude(plan, told, known).ranked)

    def names_of(self, ranked: list[Ranked]) -> list[str]:
        return [self.names[one.entry_id] for one in ranked]


@pytest.fixture
def world(logbook: Logbook) -> World:
    return World(logbook)


ENGINES = ("os_bm25", "pg_fts", "away")


@pytest.mark.requirement("U24")
def test_an_entry_asked_for_by_its_number_stands_first_in_every_engine_and_mode(world):
    asked = {
        "77234": ["olog/77234"],
        "#77234": ["olog/77234"],
        "(77234)": ["olog/77234"],
        "77234 -orbit": ["olog/77234"],
        "source:olog 77234": ["olog/77234"],
        "OPS-77": ["olog/OPS-77"],
        "77235": ["elog/77235", "olog/77235"],
    }
    for query, expected in asked.items():
        for engine in ENGINES:
            for mode in ("keyword", "hybrid"):
                ranked = world.ranked(query, mode=mode, engine=engine)
                told = (query, engine, mode, world.names_of(ranked))
                first = ranked[: len(expected)]
                assert sorted(world.names_of(first)) == expected, told
                assert {one.confidence for one in first} == {"high"}, told
                assert {one.relevance_score for one in first} == {1.0}, told
    # The rest stands behind it.
    behind = world.names_of(world.ranked("77234"))[1:]
    assert sorted(behind) == [f"api/said-{n}" for n in range(5)]


@pytest.mark.requirement("U24")
def test_a_number_finds_nothing_that_is_closed_gone_filtered_or_another_tenants(world):
    closed: tuple[tuple[str, dict[str, Any]], ...] = (
        ("77236", {}),
        ("77237", {}),
        ("77238", {}),
        ("88888", {}),
        ("77234", {"filters": {"source": "elog"}}),
        ("77234", {"filters": {"date_to": "2001-01-01"}}),
        ("77234", {"scope": replace(ANYBODY, logbooks=("other",))}),
        ("77234 -quadrupole", {}),
        ("77234 -source:olog", {}),
        # More than a number is asked for in words.
        ("77234 pump", {}),
        ('"77234"', {}),
    )
    for query, asked in closed:
        wanted = f"olog/{query.split()[0]}"
        for engine in ENGINES:
            found = world.names_of(world.ranked(query, engine=engine, **asked))
            assert wanted not in found, (query, engine, found)
            assert "elsewhere" not in found, (query, engine)
    assert world.names_of(world.ranked("77236", scope=Scope(TENANT, "ben")))[0] == (
        "olog/77236"
    )
    ours = replace(ANYBODY, logbooks=("ops",))
    assert world.names_of(world.ranked("77234", scope=ours)) == ["olog/77234"]


@pytest.mark.requirement("U24")
def test_an_entry_is_found_by_its_number_before_any_stage_has_read_it(world):
    with connection(world.pool) as conn:
        entry_id = save_entry(conn, "99001", "New", tenant=TENANT, source="olog")
    world.names[str(entry_id)] = "new"
    for engine in ENGINES:
        for query in ("99001", str(entry_id)):
            assert world.names_of(world.ranked(query, engine=engine)) == ["new"]
