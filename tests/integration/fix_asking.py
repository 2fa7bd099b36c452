"""Searches of a small logbook in Postgres, from a question to its answer."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest

from shared.access.cursors import Signer
from shared.access.scope import Scope
from shared.embedding.models.cross_encoders import CrossEncoder
from shared.embedding.models.encoders import HashingEncoder
from shared.embedding.vectors import embed_entry
from shared.embedding.vectors.live_models import InUse
from shared.embedding.vectors.vectors import ensure_table
from shared.enrich import metadata
from shared.entries.draft import EntryDraft
from shared.entries.reading import read_entries
from shared.entries.saving.save import save_page
from shared.ids import uuid7
from shared.postgres.pool import Pool, connection, make_pool
from shared.search.absence import coverage
from shared.search.absence.background_count import Overtime
from shared.search.jobs import job as jobs
from shared.search.jobs.job import Job, StoredJob
from shared.search.jobs.outcome import Outcome
from shared.search.query.plan import Limits, Plan, Question, make_plan
from shared.search.ranking import fold
from shared.search.response import finish, response_parts
from shared.search.response.response_body import render
from shared.search.results import ranking_features, rerank_with_model
from shared.search.results.conclude import Conclusion, conclude
from shared.search.results.result_page import read_page
from shared.search.retrieval.branch import branch_run
from shared.search.retrieval.branch.branch_run import Branch
from shared.search.retrieval.circuit import Circuit
from shared.search.retrieval.freshness import Freshness
from shared.search.retrieval.module_contract import Tools
from shared.search.retrieval.query_vectors import QueryVectors
from shared.text.facility.facility import PLAIN
from shared.times.calendar import Clock

ENCODER = HashingEncoder()
SIGNER = Signer(b"test", 60)
ANNA, BEN = Scope("default", "anna"), Scope("default", "ben")
ELSEWHERE = Scope("elsewhere", "anna")
# Long, for whatever else the machine does.
READ_MS = 10_000
CLOCK = Clock(zone="Europe/Berlin")


@dataclass
class Asking:
    """Entries that are written at once, and answers to questions about them."""

    pool: Pool
    tools: Tools

    def write(self, *drafts: EntryDraft, tenant: str = "default") -> dict[str, UUID]:
        """Save entries as every stage would leave them; return their ids by name."""
        with connection(self.pool) as conn:
            saved = save_page(conn, tenant, list(drafts), stages=[], editor="test")
            table = ensure_table(conn, "test", ENCODER.model, ENCODER.dimension)
            ids = {one.external_id: one.entry_id for one in saved}
            contents = read_entries.contents(conn, tenant, list(ids.values()))
            for content in contents.values():
                metadata.store(conn, content, metadata.extract(content, "en"))
                embed_entry.store(
                    conn, table, content, embed_entry.embed(content, ENCODER)
                )
            conn.execute("DELETE FROM work")
        return ids

    def plan(self, query: str, scope: Scope = ANNA, **fields: Any) -> Plan:
        """Return the plan of a question; by words unless it says otherwise."""
        question = Question(query, **{"mode": "keyword", **fields})
        return make_plan(question, scope, Limits(opensearch=False), CLOCK)

    def carried_out(self, plan: Plan) -> dict[int, list[Outcome]]:
        """Return what its branches come to."""
        ends = time.monotonic() + 5
        return {
            number: branch_run.carry_out(
                Branch(plan, name, ends, time.monotonic), lambda: self.tools
            )
            for number, name in enumerate(plan.branches)
        }

    def conclude(self, plan: Plan, told: dict[int, list[Outcome]]) -> Conclusion:
        """Return how the search ends."""
        heard: Sequence[Outcome] = [one for branch in told.values() for one in branch]
        return conclude(
            plan, told, ranking_features.read(lambda: self.pool, plan, heard, READ_MS)
        )

    def answer(self, plan: Plan, told: dict[int, list[Outcome]]) -> dict[str, Any]:
        """Return the body that a caller gets."""
        ended = self.conclude(plan, told)
        page = read_page(lambda: self.pool, plan, fold.runs(ended.ranked), READ_MS)
        said = response_parts.read(lambda: self.pool, plan, ended, page, PLAIN, READ_MS)
        return render(plan, uuid7(), ended, page, {}, told=said)

    def ended(
        self,
        plan: Plan,
        told: dict[int, list[Outcome]] | None = None,
        cross_encoder: CrossEncoder | None = None,
    ) -> StoredJob:
        """Ask a question as a job, and return how it is stored."""
        now = time.time()
        job = Job(
            job_id=uuid7(),
            tenant=plan.scope.tenant,
            subject=plan.scope.subject,
            key_id=None,
            plan=plan.to_json(),
            branches=len(plan.branches),
            created=now,
            deadline=now + 5,
            submitted=False,
        )
        arrived = self.carried_out(plan) if told is None else told
        model = None
        if cross_encoder is not None:
            circuit = Circuit(time.monotonic)
            model = rerank_with_model.Model(lambda: cross_encoder, circuit)
        tools = finish.Tools(
            lambda: self.pool,
            time.time,
            lambda: SIGNER,
            rerank_model=model,
        )
        finished = finish.finish(tools, job, plan, arrived)
        finish.store(lambda: self.pool, job, finished)
        with connection(self.pool) as conn:
            return jobs.own(conn, plan.scope, job.job_id)

    def ask(self, query: str, scope: Scope = ANNA, **fields: Any) -> dict[str, Any]:
        """Ask a question and return the answer."""
        plan = self.plan(query, scope, **fields)
        return self.answer(plan, self.carried_out(plan))


@pytest.fixture
def asking(database: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Asking]:
    # What was counted of another database says nothing of this one.
    monkeypatch.setattr(coverage, "_counts", Overtime(lambda n: sum(n.values())))
    pool = make_pool(database, application="test", size=4)
    tools = Tools(
        pool=pool,
        opensearch=lambda: None,
        index="none",
        similarity_threshold=0.05,
        models=InUse(pool, time.monotonic),
        encoder=lambda _: ENCODER,
        query_vectors=QueryVectors(),
        freshness=Freshness(time.monotonic),
        circuit=Circuit(time.monotonic),
    )
    yield Asking(pool, tools)
    pool.close()
