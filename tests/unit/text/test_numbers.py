"""What of a question may be the number of an entry."""

from dataclasses import replace
from typing import cast

import pytest

from shared.access.scope import Scope
from shared.search.jobs.outcome import from_json, to_json
from shared.search.query import name_query
from shared.search.query.language import grammar
from shared.search.query.plan import PlanLimits, SearchQuery, make_plan
from shared.search.ranking.candidate_facts import Facts
from shared.search.ranking.rank import rank
from shared.search.retrieval.branch import branch_run
from shared.search.retrieval.module_contract import Ask, ModuleResult
from shared.search.retrieval.modules import pg_fts
from shared.search.retrieval.search_context import SearchContext
from tests.unit.search.ranking.test_ranking import (
    HYBRID,
    hit,
    meaning,
    with_ordering,
    words,
)

NUMBERS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("77234", ("77234",)),
    (" 77234 ", ("77234",)),
    ("#77234", ("#77234", "77234")),
    ("(OPS-77)", ("OPS-77",)),
    ("2024/03/02:17", ("2024/03/02:17",)),
    ("77234 -pump -author:smith", ("77234",)),
    ("pump", ()),
    ("-77234", ()),
    ("77234 77235", ()),
    ("77234 OR 77235", ()),
    ('"77234"', ()),
    ("7723*", ()),
    ("", ()),
    ("7" * 256, ()),
)


@pytest.mark.parametrize(
    ("query", "expected"), NUMBERS, ids=[query[:20] for query, _ in NUMBERS]
)
def test_one_token_with_a_digit_may_be_the_number_of_an_entry(query, expected) -> None:
    assert name_query.numbers(grammar.parse(query).tree) == expected


def test_a_question_of_words_costs_no_statement_more() -> None:
    plan = make_plan(
        SearchQuery("pump", mode="keyword"), Scope("default", "a"), PlanLimits()
    )
    nothing = cast("SearchContext", None)
    found = ModuleResult()
    descriptor = pg_fts.get_tool_descriptor()
    ask = Ask.lasting(plan, 1.0)
    assert branch_run.put_number_first(found, descriptor, ask, nothing) is found


@pytest.mark.requirement("U24")
def test_what_was_asked_for_by_its_number_is_first_whatever_scores_and_models_say():
    called, said = hit("called", 0.0, origin="machine"), hit("said", 9.0)
    by_words = replace(words(said, called), meant=("called",))
    # As it travels.
    (by_words,) = from_json(to_json([by_words]))
    branches = [by_words, meaning(hit("said", 0.9), hit("near", 0.8))]
    strict = with_ordering(HYBRID, strict=True, min_relevance_score=0.9)
    read = Facts(logits={"said": 9.0, "near": 8.0})
    for plan in (HYBRID, strict):
        for known in (Facts(), read):
            first = rank(branches, known, plan).items[0]
            assert (first.entry_id, first.relevance_score) == ("called", 1.0)
            assert first.confidence == "high"
