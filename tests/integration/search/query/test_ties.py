"""What scores alike: the same entries stand in a window, however they were stored."""

import random
from datetime import UTC, datetime, timedelta

import pytest

from shared.search.query.plan import PlanLimits, SearchQuery, make_plan
from shared.search.retrieval.installed_modules import find_module
from shared.search.retrieval.module_contract import Ask
from tests.support.fixtures.engines import ANYBODY, ENGINES, Logbook, Text

ALIKE = 150
LIMIT = 30


@pytest.mark.requirement("C37", "S4-79")
def test_of_more_equal_hits_than_a_window_takes_the_first_by_name_stand_in_it(logbook):
    said, sources = "Daily checklist done.", ("olog", "api")
    texts = [
        Text(f"{number:03}", said, source=sources[number % 2])
        for number in range(ALIKE)
    ]
    luck = random.Random(3)
    shuffled = luck.sample(texts, ALIKE)
    # In several segments: each numbers its documents from nought.
    for start in range(0, ALIKE, ALIKE // 3):
        logbook.write(shuffled[start : start + ALIKE // 3])
    question = SearchQuery("daily checklist", mode="keyword", limit=LIMIT)
    plan = make_plan(question, ANYBODY, PlanLimits())
    assert plan.window < ALIKE
    expected = sorted((one.source, one.name) for one in texts)[: plan.window]
    for engine in ENGINES:
        found = find_module(engine).execute(Ask.lasting(plan, 10.0), logbook.context())
        assert len({hit.score for hit in found.hits}) == 1
        names = {(hit.source, logbook.names[hit.entry_id]) for hit in found.hits}
        assert sorted(names) == expected


def test_where_what_has_all_words_fills_the_window_nothing_newer_takes_its_place(
    logbook: Logbook,
) -> None:
    day = datetime(2026, 1, 1, tzinfo=UTC)
    both = [Text(f"both-{n}", "The pump tripped.", entry_time=day) for n in range(60)]
    later = day + timedelta(days=1)
    one = [Text(f"one-{n}", "The pump.", entry_time=later) for n in range(60)]
    logbook.write([*both, *one])
    plan = make_plan(
        SearchQuery("pump tripped", mode="hybrid", limit=LIMIT),
        ANYBODY,
        PlanLimits(any_word=True),
    )
    for engine in ENGINES:
        ask = Ask.lasting(plan, 10.0)
        found = find_module(engine).execute(ask, logbook.context())
        names = [logbook.names[hit.entry_id] for hit in found.hits]
        assert len(names) == ask.limit
        assert {name.split("-")[0] for name in names[: len(both)]} == {"both"}
