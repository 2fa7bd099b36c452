"""What the bench of quality makes of orders, and when its gate is not passed."""

import gzip
import json
from dataclasses import replace
from math import isclose
from pathlib import Path

import pytest

from bench import quality, quality_engines, quality_folds, quality_measures
from bench.quality_engines import Collection
from bench.quality_folds import GRID
from bench.quality_measures import HEADINGS
from bench.quality_report import BASE, OURS, RIVALS, Found, Report, found_of
from bench.quality_words import BareWords
from shared.embedding.models.model_names import DEFAULT_MODEL
from shared.search.ranking import linear_rerank
from shared.search.ranking.linear_rerank import Weights

JUDGED = Collection("toy", {}, {"q": "?"}, {"q": {"a": 1, "b": 1, "c": 0}})


def measured(*order: str) -> dict[str, float]:
    judged = quality_measures.judge(JUDGED, {"q": list(order)})
    return {measure: quality_measures.mean(judged, measure) for measure in HEADINGS}


def test_the_measures_are_those_of_the_books() -> None:
    best = measured("a", "b", "c")
    assert best == dict.fromkeys(HEADINGS, 1.0)
    later = measured("c", "a", *(f"x{n}" for n in range(20)), "b")
    assert later["recip_rank"] == 0.5
    assert (later["success_1"], later["success_5"]) == (0.0, 1.0)
    assert later["recall_10"] == 0.5
    assert later["recall_100"] == 1.0
    # One of two at the second place: 1 / log2(3), of 1 + 1 / log2(3).
    assert isclose(later["ndcg_cut_10"], 0.63093 / 1.63093, rel_tol=1e-4)
    assert measured() == dict.fromkeys(HEADINGS, 0.0)


def test_bare_bm25_finds_by_stem_and_nothing_where_no_word_is_shared() -> None:
    texts = {"a": "", "b": "The RF cavity tripped", "c": "Trips of RF cavities: RF"}
    words = BareWords(texts)
    assert words.best("cavity trip, RF", 3) == ["c", "b"]
    assert words.best("cavity trip, RF", 1) == ["c"]
    assert words.best("the vacuum", 3) == words.best("", 3) == []


@pytest.mark.parametrize(
    ("ours", "told"),
    [
        ((0.40, 0.50), []),
        ((0.396, 0.51), []),
        ((0.394, 0.51), ["cranfield"]),
        ((0.397, 0.492), ["mean"]),
        ((0.40, 0.49), ["mean"]),
    ],
    ids=["above", "a_bit_below_on_one", "far_below", "below_in_mean", "equal_in_mean"],
)
def test_the_gate_allows_a_little_on_one_collection_and_nothing_in_the_mean(ours, told):
    base = (0.40, 0.49)
    found = [
        Found(name, way, {"ndcg_cut_10": values[number]})
        for way, values in ((OURS, ours), (BASE, base))
        for number, name in enumerate(("cranfield", "vaswani"))
    ]
    failures = Report(found, {}, {}, {}, {}).failures()
    assert [line.split(":")[0] for line in failures] == told


def test_the_gate_wants_both_together_to_find_no_less_than_each_alone() -> None:
    found = [
        Found("cranfield", way, {"ndcg_cut_10": value})
        for way, value in ((OURS, 0.40), (BASE, 0.39), ("pg_fts", 0.40))
    ]
    assert Report(found, {}, {}, {}, {}).failures() == []
    better = Found("cranfield", "semantic", {"ndcg_cut_10": 0.41})
    told = Report([*found, better], {}, {}, {}, {}).failures()
    assert told == ["cranfield: nDCG@10 0.4000, semantic alone 0.4100"]


def test_the_gate_wants_no_hits_that_are_surely_fewer_on_any_kind_of_question() -> None:
    found = [
        Found("cranfield", way, {"ndcg_cut_10": value, "success_1": 0.5})
        for way, value in ((OURS, 0.40), (BASE, 0.39))
    ]
    long = [
        Found("cranfield", way, {"success_1": value}, "long")
        for way, value in ((OURS, 0.50), (BASE, 0.52))
    ]
    for cut, is_sure in ((0.01, False), (-0.01, True)):
        above = {BASE: {"success_1": [-0.05, cut]}}
        report = Report(
            [*found, replace(long[0], above=above), long[1]], {}, {}, {}, {}
        )
        line = "cranfield long: hit@1 0.5000, plain fusion 0.5200"
        assert report.below_base() == [(line, is_sure)]
        assert report.failures() == [line] * is_sure


def test_the_gate_lets_the_floor_hide_one_of_twenty_relevant_pairs() -> None:
    found = [
        Found("cranfield", way, {"ndcg_cut_10": value})
        for way, value in ((OURS, 0.40), (BASE, 0.39))
    ]
    hidden = {"cranfield": 0.05, "vaswani": 0.051}
    told = Report(found, hidden, {}, {}, {}).failures()
    assert told == ["vaswani: the floor loses 5.1 % of what is relevant"]


def test_a_collection_is_read_with_its_first_questions(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "corpus.jsonl.gz", "wt") as lines:
        lines.write(json.dumps({"id": 1, "text": "beam"}) + "\n")
    questions = "".join(
        json.dumps({"id": number, "text": "?"}) + "\n" for number in (7, 8)
    )
    (tmp_path / "queries.jsonl").write_text(questions)
    (tmp_path / "qrels.tsv").write_text("7\t1\t1\n8\t1\t2\n")
    read = quality_engines.read(tmp_path, 1)
    assert (read.texts, read.questions) == ({"1": "beam"}, {"7": "?"})
    assert read.judged == {"7": {"1": 1}}


def test_an_interval_is_of_questions_and_of_differences_between_the_same_ones() -> None:
    values = [0.0, 1.0] * 50
    ours = {str(n): {"success_1": value} for n, value in enumerate(values)}
    theirs = {name: {"success_1": 0.5} for name in ours}
    low, high = quality_measures.interval(ours, "success_1")
    # 1.96 standard errors of a fair coin, thrown a hundred times.
    assert [low, high] == pytest.approx([0.4, 0.6], abs=0.02)
    above = quality_measures.interval(ours, "success_1", theirs)
    assert above == pytest.approx([low - 0.5, high - 0.5])
    assert quality_measures.interval(ours, "success_1", ours) == [0.0, 0.0]


def test_short_and_long_questions_are_told_apart_where_there_are_some_of_both() -> None:
    long = " ".join(["beam"] * 26)
    questions = {str(n): long if n < 10 else "beam" for n in range(30)}
    collection = Collection("toy", {}, questions, {})
    good = {str(n): 1.0 if n < 2 else 0.0 for n in range(30)}
    judged = {
        way: {
            number: dict.fromkeys(HEADINGS, value if way == OURS else 0.5)
            for number, value in good.items()
        }
        for way in (*RIVALS, OURS)
    }
    found = {(one.way, one.part): one for one in found_of(collection, judged)}
    counts = {part: found[OURS, part].questions for part in ("", "short", "long")}
    assert counts == {"": 30, "short": 20, "long": 10}
    assert found[BASE, "long"].measures["success_1"] == 0.5
    assert found[OURS, "long"].measures["success_1"] == 0.2
    low, high = found[OURS, "long"].above[BASE]["success_1"]
    assert low <= 0.2 - 0.5 <= high
    few = replace(collection, questions={**questions, "9": "beam"})
    assert {one.part for one in found_of(few, judged)} == {""}


def test_a_fold_is_weighed_as_the_others_choose_and_never_by_itself() -> None:
    def judged(best: Weights) -> dict[Weights, quality_measures.Judged]:
        return {
            one: {"q": dict.fromkeys(HEADINGS, 1.0 if one == best else 0.0)}
            for one in GRID
        }

    weighed = {"a": judged(GRID[2]), "b": judged(GRID[2]), "c": judged(GRID[5])}
    assert quality_folds.choose(weighed, ["a", "b"]) == GRID[2]
    assert quality_folds.choose(weighed, ["c"]) == GRID[5]
    # What ships is one of those that there is to choose from.
    assert linear_rerank.WEIGHTS[DEFAULT_MODEL] in GRID


def test_the_linear_rival_spreads_both_lists_over_nought_to_one() -> None:
    english, model = {"a": 30.0, "b": 20.0, "c": 10.0}, {"b": 0.9, "d": 0.88, "c": 0.8}
    # b: 0.15 + 0.7; d: 0.7 * 0.8; a: 0.3; c: the last of both.
    assert quality._spread(english, model) == ["b", "d", "a", "c"]
    assert quality._spread({}, {"a": 0.5}) == ["a"]
