"""How much a raw score of words is worth: measured on the entries that there are."""

from random import Random
from statistics import median

import pytest

from shared.postgres.pool import connection
from shared.search.query.plan import PlanLimits, SearchQuery, make_plan
from shared.search.ranking import calibration
from shared.search.retrieval import score_scale
from shared.search.retrieval.installed_modules import find_module
from shared.search.retrieval.module_contract import Ask, ModuleResult
from tests.support.fixtures.engines import ANYBODY, ENGINES, Logbook, Text

UNITS = {"os_bm25": "bm25", "pg_fts": "ts_rank"}
WORDS = [
    *("klystron", "cavity", "vacuum", "magnet", "undulator", "septum", "kicker"),
    *("corrector", "quadrupole", "dipole", "injector", "modulator", "thyratron"),
    *("circulator", "interlock", "shutter", "monochromator", "beamline", "cooling"),
    *("pump", "valve", "gauge", "detector", "camera", "amplifier", "synthesizer"),
]


def written(logbook: Logbook, count: int) -> list[str]:
    """Write entries of words of which some are common and some rare; return those."""
    chance = Random(3)
    commonness = [1 / place for place in range(1, len(WORDS) + 1)]
    texts = [
        Text(str(n), " ".join(chance.choices(WORDS, commonness, k=6)) + " tripped.")
        for n in range(count)
    ]
    logbook.write(texts)
    return [word for word in WORDS if any(word in one.text for one in texts)]


def asked(logbook: Logbook, engine: str, query: str, limit: int = 10) -> ModuleResult:
    plan = make_plan(
        SearchQuery(query, mode="keyword", limit=limit), ANYBODY, PlanLimits()
    )
    return find_module(engine).execute(Ask.lasting(plan, 10.0), logbook.context())


def measured(logbook: Logbook, seed: int = 5) -> dict[str, tuple[float, str]]:
    return score_scale.measure_scale(
        logbook.pool, logbook.client, logbook.index, Random(seed)
    )


@pytest.mark.requirement("S1-35")
@pytest.mark.parametrize("engine", ENGINES)
def test_the_best_hit_of_a_usual_word_is_trusted_and_a_page_of_most_is_shown(
    logbook, engine
):
    words = written(logbook, 120)
    half, where = measured(logbook)[UNITS[engine]]

    found = [asked(logbook, engine, word).hits[:10] for word in words]

    best = median(calibration.saturating(hits[0].score, half) for hits in found)
    assert best == pytest.approx(0.8, abs=0.05)
    lasts = [calibration.saturating(hits[-1].score, half) for hits in found]
    assert sum(score >= 0.5 for score in lasts) >= 0.9 * len(words)
    assert where == "entry_text" or where.startswith(logbook.index)


@pytest.mark.requirement("S1-35")
def test_the_scale_hardly_depends_on_which_entries_were_looked_at(logbook):
    written(logbook, 120)
    scales = [measured(logbook, seed)["bm25"][0] for seed in range(20)]
    assert max(scales) <= 1.25 * min(scales)


def test_of_few_entries_nothing_is_learnt(logbook):
    logbook.write([Text("one", "klystron cavity tripped")])
    assert measured(logbook) == {}


def test_what_is_much_as_before_is_no_other_scale(logbook):
    def kept(half: float, where: str = "a") -> dict[str, float]:
        with connection(logbook.pool) as conn:
            score_scale.store_scale(conn, {"bm25": (half, where)})
            return score_scale.load_scale(conn)

    assert kept(1.0) == {"bm25": 1.0}
    assert kept(1.1) == {"bm25": 1.0}
    assert kept(1.3) == {"bm25": 1.3}
    assert kept(1.2, "another index") == {"bm25": 1.2}


def test_words_that_stand_a_section_apart_score_as_well_as_beside_each_other(logbook):
    logbook.write(
        [
            Text("beside", "the vacuum leak was found"),
            Text("apart", "the vacuum was bad", tags=("leak",)),
            Text("neither", "the beam is back"),
        ]
    )
    found = asked(logbook, "pg_fts", "vacuum leak")

    scores = {logbook.names[hit.entry_id]: hit.score for hit in found.hits}
    assert scores.keys() == {"beside", "apart"}
    # It was 4e-15 by the distance of the two.
    assert scores["apart"] > 0.5 * scores["beside"]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("query", "words", "whole"),
    [
        ("klystron", 1, True),
        ("klystron cavity the vacuum", 3, True),
        ("klystron nowhere", 2, False),
        ("klystron -cavity", 1, True),
        ("klystron OR cavity", 1, True),
    ],
)
def test_a_branch_says_how_many_words_a_good_match_has(
    logbook, engine, query, words, whole
):
    written(logbook, 40)
    found = asked(logbook, engine, query)
    assert (found.words, found.whole) == (words, whole)
