"""A long question is asked at once as it stands, as it may be meant, by any word."""

import time
from dataclasses import replace
from typing import Any

import pytest
from opensearchpy import OpenSearch
from psycopg import Connection

from shared.postgres import statement_deadline
from shared.search.query import plan as planning
from shared.search.query.compiled.compiled_question import CompiledQuery
from shared.search.query.plan import PlanLimits, make_plan
from shared.search.retrieval.branch import branch_run
from shared.search.retrieval.branch.branch_run import Branch
from shared.search.retrieval.circuit import OPENS_AFTER_FAILURES, Circuit
from shared.search.retrieval.engines import branch_query
from shared.search.retrieval.installed_modules import find_module
from shared.search.retrieval.module_contract import Ask, ModuleResult
from shared.search.retrieval.search_context import SearchContext
from shared.vocabulary.recent_words import Present
from tests.support.fixtures.engines import ANYBODY, Logbook, Text

LONG = "why was there not enough cooling water flow at night"
# Nobody wrote `no`, and `not` stands beside the words that are asked for.
ONLY_RANKED = "why was there no flow of cooling water enough at night"
NEVER = 100
# For an index that has just begun, on a busy machine.
SECONDS = 10.0
QUESTIONS = (
    LONG,
    ONLY_RANKED,
    "the cooling water pump tripped at noon today",
    "the coling watter pump tripped at noon today",
    "the cooling water pump tripped at noon -leak today",
    "HCM03 cooling water pump flow enough magnet",
    '"cooling water" flow enough magnet pump night',
    "cooling AND water AND flow AND enough AND night",
    "giraffe zebra okapi gnu antelope springbok",
    "pump",
)


class Noting:
    """The client as it is, with what was asked of it."""

    def __init__(self, client: OpenSearch) -> None:
        self._client = client
        self.asked: list[str] = []
        self.bodies = 0

    def search(self, **given: Any) -> Any:
        self.asked.append("search")
        return self._client.search(**given)

    def msearch(self, **given: Any) -> Any:
        self.asked.append("msearch")
        self.bodies += sum("query" in line for line in given["body"])
        return self._client.msearch(**given)


@pytest.fixture
def written(logbook: Logbook) -> Logbook:
    logbook.write(
        [
            Text(
                "all",
                "The cooling water pump tripped at noon today",
                authors=("meier",),
            ),
            Text("leak", "At noon today the cooling water pump tripped: a leak"),
            # One letter from `no`, and it says something.
            Text("flow", "Water flow too low at night, nox too"),
            Text("name", "HCM03 was replaced, not enough cooling"),
            Text("closed", "Cooling water flow enough at night", readers=("ben",)),
        ]
    )
    return logbook


def found(query: str, context: SearchContext) -> ModuleResult:
    plan = make_plan(planning.SearchQuery(query, mode="keyword"), ANYBODY, PlanLimits())
    result: ModuleResult = find_module("os_bm25").execute(
        Ask.lasting(plan, SECONDS), context
    )
    return replace(result, as_of=None)


def test_asking_ahead_and_knowing_words_change_no_answer(written, monkeypatch):
    context = written.context()
    knowing = replace(context, present=Present(time.monotonic))
    statuses = set()
    for query in QUESTIONS:
        with monkeypatch.context() as patched:
            patched.setattr(branch_query, "_LONG_WORDS", NEVER)
            expected = found(query, context)
        # The second time all words that there are were looked up by the first.
        for one in (context, knowing, knowing):
            assert found(query, one) == expected, query
        codes = [note.code for note in expected.diagnostics]
        statuses.add((bool(expected.hits), *codes))
    assert statuses >= {
        (True,),
        (True, "fuzzy_fallback"),
        (True, "relaxed_to_any_term"),
        (False,),
    }


@pytest.mark.parametrize(
    ("query", "asked"),
    [
        (LONG, ["msearch"]),
        ("the cooling water pump tripped at noon today", ["msearch"]),
        ("the coling watter pump tripped at noon today", ["msearch"]),
        ("pump", ["search"]),
    ],
    ids=["by any word", "by all words", "misspelt", "short"],
)
def test_a_long_question_asks_the_index_once(written, query, asked):
    client = Noting(written.client)
    context = replace(written.context(), opensearch=lambda: client)
    assert found(query, context).hits
    assert client.asked == asked


@pytest.mark.parametrize("query", [LONG, ONLY_RANKED], ids=["asked for", "ranked"])
def test_a_spelling_of_what_only_ranks_is_not_searched(written, query, monkeypatch):
    client = Noting(written.client)
    context = replace(written.context(), opensearch=lambda: client)
    told = found(query, context)
    # As it stands, and by any word; of what only ranks a misspelt word is corrected
    # by itself, too. What would ask for more finds nothing either.
    asked = client.bodies
    assert asked == (3 if query == ONLY_RANKED else 2)
    monkeypatch.setattr(CompiledQuery, "asks_more_than", lambda *_: False)
    assert found(query, context) == told
    assert client.bodies - asked == (4 if query == ONLY_RANKED else 2)


class Late(Noting):
    """The same, on which the question that is asked ahead is never answered in time."""

    def msearch(self, **given: Any) -> Any:
        answer = super().msearch(**given)
        self.limits = [line["timeout"] for line in given["body"] if "query" in line]
        answer["responses"][1] |= {"timed_out": True, "hits": {"hits": []}}
        return answer


@pytest.mark.parametrize(
    ("query", "asked", "names"),
    [
        (LONG, ["msearch", "search"], {"all", "leak", "flow", "name"}),
        (QUESTIONS[2], ["msearch"], {"all", "leak"}),
    ],
    ids=["it is needed", "it is not"],
)
def test_a_question_asked_ahead_that_is_late_takes_no_other_with_it(
    written, query, asked, names
):
    client = Late(written.client)
    context = replace(written.context(), opensearch=lambda: client)
    hits = found(query, context).hits
    assert {written.names[hit.entry_id] for hit in hits} == names
    assert client.asked == asked
    whole, ahead = (int(limit.removesuffix("ms")) for limit in client.limits)
    assert ahead <= 0.5 * whole + 1


@pytest.mark.parametrize(
    "query", ["pump", "pump author:meier", "pump -leak"], ids=["plain", "filter", "NOT"]
)
def test_what_goes_out_together_shares_the_time_that_is_left(
    written, query, monkeypatch
):
    limits: list[int] = []
    limit_time = statement_deadline.limit_time

    def noted(conn: Connection, ms: int, **given: bool) -> None:
        limits.append(ms)
        limit_time(conn, ms, **given)

    monkeypatch.setattr(statement_deadline, "limit_time", noted)
    assert found(query, written.context()).hits
    assert limits
    # Two statements, each under the last limit that went before it.
    assert max(limits) <= SECONDS * 1000 / 2


def test_a_long_question_to_an_index_that_is_gone_fails_as_a_short_one(written):
    circuit = Circuit(time.monotonic)
    context = replace(written.context(), index="absent", circuit=circuit)
    told = {}
    for query in ("pump", LONG):
        plan = make_plan(
            planning.SearchQuery(query, mode="keyword"), ANYBODY, PlanLimits()
        )
        branch = Branch(plan, "os_bm25", time.time() + 5, time.time)
        first, second = branch_run.carry_out(branch, context)
        told[query] = first.status, first.error_code, first.retriable
        assert second.status == "ok"
    assert told["pump"] == told[LONG]
    assert told[LONG][0] == "error"
    # Each was tried again where there was time for it, and counted once.
    for _ in range(OPENS_AFTER_FAILURES - len(told)):
        assert circuit.allows()
        circuit.failed()
    assert not circuit.allows()
