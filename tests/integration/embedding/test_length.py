"""C11: vectors of another length than settings or a table say, asked and stored."""

import time
from collections.abc import Callable

import pytest
from psycopg import Connection

from shared.access.scope import Scope
from shared.embedding.vectors import vector_tables
from shared.messaging.stage_names import embed_stage
from shared.search.jobs.outcome import Outcome
from shared.search.query.plan import PlanLimits, SearchQuery, make_plan
from shared.search.retrieval.branch import branch_run
from shared.search.retrieval.branch.branch_run import Branch
from shared.work import stage_pauses
from tests.support.fixtures.workers import MakeContext
from tests.support.saving import save_entry
from tests.support.stub_servers.embedding_server import Script
from workers.runtime.context import Context
from workers.tasks.enhance import embed_entries

TENANT, MODEL, LENGTH = "default", "here:tiny", 32
Make = Callable[[int | None], Context]


@pytest.fixture
def server(server: Script) -> Script:
    server.dimension = LENGTH
    return server


@pytest.fixture
def make(make_context: MakeContext, server: Script) -> Make:
    """A worker that just began, and is told how long vectors are."""

    def make(told: int | None) -> Context:
        module = "LOGCHORD_SEARCH_MODULES__SEMANTIC__"
        given = {
            "EMBEDDING_MODEL": "tiny",
            f"{module}PROVIDER": "here",
            "LOGCHORD_API__PROVIDERS__HERE__BASE_URL": server.url,
        }
        if told is not None:
            given[f"{module}SETTINGS__EMBEDDING_DIMENSION"] = str(told)
        return make_context(**given)

    return make


@pytest.fixture(autouse=True)
def _an_entry_is_due(committing: Connection) -> None:
    save_entry(committing, "one", "The beam was lost", stages=[embed_stage(MODEL)])


def asked(ctx: Context) -> Outcome:
    """Ask by meaning, as a worker of searches does."""
    question = SearchQuery(query="why was the beam lost", mode="semantic")
    plan = make_plan(question, Scope(TENANT, "anna"), PlanLimits(opensearch=False))
    branch = Branch(plan, "semantic", time.time() + 10, time.time)
    (found,) = branch_run.carry_out(branch, ctx.search_context)
    return found


@pytest.mark.requirement("S0-35", "C11")
def test_at_ingest_another_length_than_told_is_an_error_of_the_configuration(
    make, committing
):
    embed_entries(make(LENGTH + 1), MODEL)

    # Nobody is quarantined for it, and no table is made of what was not meant.
    (resting,) = stage_pauses.list_pauses(committing)
    assert (resting.stage, resting.code) == (
        embed_stage(MODEL),
        "configuration_invalid",
    )
    assert vector_tables.find_live_model(committing) is None
    assert committing.execute("SELECT attempts FROM work").fetchall() == [(0,)]

    committing.execute("UPDATE stage_pause SET until = now()")
    embed_entries(make(LENGTH), MODEL)
    assert committing.execute("SELECT count(*) FROM work").fetchone() == (0,)
    assert stage_pauses.list_pauses(committing) == []


@pytest.mark.requirement("S0-35", "C11")
def test_at_a_query_another_length_than_told_is_a_warning_and_than_stored_an_error(
    make, committing, server
):
    embed_entries(make(None), MODEL)

    told_right = asked(make(LENGTH))
    assert (told_right.status, told_right.diagnostics) == ("ok", ())
    told_wrong = asked(make(LENGTH + 1))
    assert told_wrong.status == "ok"
    (note,) = told_wrong.diagnostics
    assert (note.level, note.code) == ("warning", "dimension_mismatch")
    assert str(LENGTH) in note.message
    assert str(LENGTH + 1) in note.message

    server.dimension = LENGTH + 1
    other = asked(make(None))
    assert (other.status, other.error_code) == ("error", "configuration_invalid")
