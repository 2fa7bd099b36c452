"""Pieces of a question beside those of a text, and what that does to an order."""

import pytest

from shared.embedding import load_model
from shared.embedding.load_model import LATE
from shared.embedding.models.onnx_models import LateInteraction
from shared.errors import EmbeddingGenerationError, LogchordError, ModuleNotEnabledError
from shared.search.pipelines.plan_settings import limits_of
from shared.search.query.ordering import Ordering
from shared.search.query.plan import Plan, PlanLimits, SearchQuery, make_plan
from shared.search.ranking.candidate_facts import Facts
from shared.search.ranking.rank import rank
from shared.settings.settings import Settings
from tests.support import pair_graph
from tests.unit.search.ranking.test_ranking import (
    ANNA,
    hit,
    meaning,
    names,
    scores,
    words,
)

READ_LATE = PlanLimits(ordering=Ordering(by_model=True, late=True))


def plan_of(mode: str = "hybrid", **asked: object) -> Plan:
    return make_plan(SearchQuery("beam", mode=mode, ordering=asked), ANNA, READ_LATE)


def test_each_piece_of_a_question_takes_the_best_cosine_of_a_text(tmp_path) -> None:
    late = LateInteraction(pair_graph.save_pieces(tmp_path))
    found = late.logits("beam dump", ["dump beam", "beam", "valve valve"], 5.0)
    # A beam is (1, 0), a dump (0, 1) and a valve between them, however long.
    assert found == pytest.approx([1.0, 0.5, (0.6 + 0.8) / 2])
    assert late.logits("beam", [], 5.0) == []


def test_out_of_time_it_is_late_and_no_model_of_pieces_is_refused(tmp_path) -> None:
    late = LateInteraction(pair_graph.save_pieces(tmp_path))
    with pytest.raises(LogchordError) as caught:
        late.logits("beam", ["dump"], 0.0)
    assert caught.value.error_code == "branch_timeout"
    with pytest.raises(EmbeddingGenerationError) as refused:
        LateInteraction(pair_graph.save(tmp_path)).logits("beam", ["dump"], 5.0)
    assert "each piece" in str(refused.value.technical)


def test_half_of_a_score_is_how_like_it_is_and_the_likest_counts_as_the_best() -> None:
    found = [words(), meaning(hit("a", 0.8), hit("b", 0.7), hit("c", 0.6))]
    order = rank(found, Facts(logits={"a": 0.3, "b": 0.6}), plan_of())
    # 0.56 and 0.49 before; the likest, 0.6, is worth 0.56.
    assert scores(order) == pytest.approx(
        {"b": (0.49 + 0.56) / 2, "a": (0.56 + 0.26) / 2, "c": (0.56 + 0.26) / 2}
    )
    # What was not read stands below what was, in the order of before.
    assert names(order) == ["b", "a", "c"]
    assert order.items[0].scores["late_interaction"] == 0.6
    assert "late_interaction" not in order.items[2].scores
    assert {item.calibration for item in order.items} == {"linear_map"}
    # No cross-encoder said it: nothing is cut by what one would have to say.
    assert order.suppressed.count == 0


def test_what_words_alone_have_found_is_halved_with_a_likeness() -> None:
    found = [words(hit("a", 9.0), hit("b", 8.0)), words()]
    likest = Facts(logits={"a": 0.1, "b": 0.9})
    assert names(rank(found, likest, plan_of())) == ["b", "a"]


@pytest.mark.parametrize("likeness", [0.2, 0.74])
def test_what_a_machine_wrote_never_stands_above_what_is_as_like(likeness) -> None:
    weak = words(
        hit("best", 4.6), hit("machine", 1.6, origin="machine"), hit("person", 1.6)
    )
    plan = plan_of("keyword", rerank=True, by_model=True, late=True)
    read = {"best": 0.75, "machine": likeness, "person": likeness}
    order = rank([weak], Facts(logits=read), plan)
    # With 0.2 half of the score is below 0: a factor below 1 would lift it there.
    assert names(order) == ["best", "person", "machine"]
    assert all(item.relevance_score >= 0 for item in order.items)


def test_one_branch_alone_can_be_read_piece_by_piece() -> None:
    plan = plan_of("keyword", rerank=True, by_model=True, late=True)
    found = [words(hit("a", 9.0), hit("b", 8.0))]
    assert names(rank(found, Facts(logits={"a": 0.1, "b": 0.9}), plan)) == ["b", "a"]


def test_what_reads_is_what_the_setting_names() -> None:
    shipped = limits_of(Settings.load({})).ordering
    assert (shipped.by_model, shipped.late) == (False, False)
    named = Settings.load({"LOGCHORD_RERANKING__MODEL": LATE})
    ours = limits_of(named).ordering
    assert (ours.by_model, ours.late) == (True, True)
    assert load_model.is_named(LATE, {})
    assert plan_of().ordering.late
    for asked, installed, legal in ((True, False, "model"), (False, True, "late")):
        limits = PlanLimits(ordering=Ordering(by_model=True, late=installed))
        said = {"rerank": True, "by_model": True, "late": asked}
        with pytest.raises(ModuleNotEnabledError) as caught:
            make_plan(SearchQuery("beam", mode="hybrid", ordering=said), ANNA, limits)
        assert caught.value.details["available"] == ["linear", legal]
