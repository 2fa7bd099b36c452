"""Hits are weighed as `trec_eval` weighs them; a line that judges none is named."""

from pathlib import Path

import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from api.cli.main import cli
from api.cli.output import UsageError
from api.cli.search.evaluate import weigh
from api.cli.search.fit_floors import fit_floor

GRADES = st.dictionaries(
    st.sampled_from("abcdefghijklmno"), st.integers(0, 3), min_size=1
).filter(lambda grades: any(grades.values()))


@given(grades=GRADES, order=st.permutations("abcdefghijklmnopqrst"))
def test_hits_are_weighed_as_trec_eval_does(grades, order):
    first = order[:10]
    measures = {"P.10", "recall.10", "recip_rank", "ndcg_cut.10", "success.10"}
    evaluator = pytrec_eval.RelevanceEvaluator({"q": grades}, measures)
    scored = {name: float(-place) for place, name in enumerate(first)}
    wanted = evaluator.evaluate({"q": scored})["q"]
    found = weigh(
        [grades.get(one, 0) for one in first], grades.values(), 10, stable=True
    )
    assert found.precision == pytest.approx(wanted["P_10"])
    assert found.recall == pytest.approx(wanted["recall_10"])
    assert found.mrr == pytest.approx(wanted["recip_rank"])
    assert found.ndcg == pytest.approx(wanted["ndcg_cut_10"])
    assert found.hit == wanted["success_10"]


@given(scores=st.lists(st.floats(0, 1), min_size=1, max_size=200))
def test_a_fitted_floor_hides_at_most_one_in_twenty(scores):
    floor = fit_floor(scores)
    assert floor is not None
    assert sum(one < floor for one in scores) <= len(scores) / 20
    higher = floor + 0.002
    assert sum(one < higher for one in scores) > len(scores) / 20 - 1


def test_no_floor_is_fitted_to_nothing():
    assert fit_floor([]) is None


GOOD = b'{"query": "trip", "relevant": ["ops/1"]}'


@pytest.mark.parametrize(
    "line",
    [
        b"{'query': 'trip'}",
        '{"query": "Kühlung", "relevant": ["ops/1"]}'.encode("latin-1"),
        b'{"query": " ", "relevant": ["ops/1"]}',
        b'{"query": "trip", "relevant": []}',
        b'{"query": "trip", "relevant": {"ops/1": 0}}',
        b'{"query": "trip", "relevant": {"ops/1": 2, "ops/2": -1}}',
        b'{"query": "trip", "relevant": {"ops/1": NaN}}',
        b'{"query": "trip", "relevant": {"ops/1": [1]}}',
    ],
)
def test_a_line_that_judges_nothing_is_named(tmp_path: Path, line: bytes):
    file = tmp_path / "questions.jsonl"
    # One with a mark of Windows before it, and a sign that ends a line elsewhere.
    first = "\ufeff" + GOOD.decode().replace("trip", "a\u2028trip")
    file.write_bytes(first.encode() + b"\r\n\n" + line + b"\n" + GOOD)
    with pytest.raises(UsageError, match=r"^Line 3 is no judged question"):
        cli.main(["eval", str(file)], standalone_mode=False)
