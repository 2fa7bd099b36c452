"""What the bench of quality makes of orders, and when its gate is not passed."""

from __future__ import annotations

import gzip
import json
from math import isclose
from pathlib import Path

import pytest

from bench import quality, quality_engines
from bench.quality import BASE, OURS, Found, Report
from bench.quality_engines import Collection
from bench.quality_words import BareWords

JUDGED = Collection("toy", {}, {"q": "?"}, {"q": {"a": 1, "b": 1, "c": 0}})


def measured(*order: str) -> dict[str, float]:
    return quality._measured(JUDGED, {"q": list(order)})


def test_the_measures_are_those_of_the_books() -> None:
    best = measured("a", "b", "c")
    assert best == dict.fromkeys(quality.MEASURES, 1.0)
    later = measured("c", "a", *(f"x{n}" for n in range(20)), "b")
    assert later["recip_rank"] == 0.5
    assert later["recall_10"] == 0.5
    assert later["recall_100"] == 1.0
    # One of two at the second place: 1 / log2(3), of 1 + 1 / log2(3).
    assert isclose(later["ndcg_cut_10"], 0.63093 / 1.63093, rel_tol=1e-4)
    assert measured() == dict.fromkeys(quality.MEASURES, 0.0)


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
def test_the_gate_allows_a_little_on_one_collection_and_nothing_in_the_mean(
    ours: tuple[float, float], told: list[str]
) -> None:
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
