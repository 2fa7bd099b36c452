"""What is told of an agent's end: hits, an answer without a model, then the model's."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest

from shared.agents.agent_trace import tell_turn
from shared.search.ranking.ranked_hits import RankedHits
from shared.search.response.answer import Answer, ModelShare
from shared.search.response.end_search import EndedSearch
from shared.search.response.respond import nothing_asked, reword
from shared.search.results.conclude import Conclusion
from tests.unit.agents.test_agent_answer import MUELLER, prepared, turns
from tests.unit.agents.test_conversation import plan_of
from workers.tasks.agent import tell_answer
from workers.tasks.worded import Audience

PLAN = plan_of()
PLAIN = prepared(MUELLER).answer
DONE = Conclusion("done", (), RankedHits(), degraded=False)


@dataclass
class Listening:
    """Whoever hears the events of a job."""

    heard: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)

    def tell(self, name: str, says: Mapping[str, Any]) -> None:
        self.heard.append((name, says))


def end(answer: Answer, plain: list[Answer]) -> tuple[bool, Listening]:
    response = reword(PLAN, nothing_asked(PLAN), answer)
    listening = Listening()
    ended = EndedSearch(DONE, response, None, answer)
    is_told = tell_answer(cast("Audience", listening), PLAN, ended, plain)
    return is_told, listening


def test_the_answer_without_a_model_is_told_before_the_model_s() -> None:
    share = ModelShare(status="ok", grounding_score=0.5, hallucinated_citations=1)
    worded = replace(PLAIN, text="Worded.", source="llm", model=share)
    is_told, listening = end(worded, [PLAIN])
    assert is_told
    names = [name for name, _ in listening.heard]
    assert names == ["results", "deterministic", "llm_status", "actions"]
    results, plain, model, _ = (says for _, says in listening.heard)
    assert results["answer"] is None
    assert plain["answer"] == "Plain."
    assert (model["status"], model["answer"]) == ("ok", "Worded.")
    assert (model["grounding_score"], model["hallucinated_citations"]) == (0.5, 1)


def test_where_nothing_was_answered_the_end_itself_tells() -> None:
    nobody = EndedSearch(DONE, nothing_asked(PLAN), None, None)
    listening = Listening()
    assert not tell_answer(cast("Audience", listening), PLAN, nobody, [])
    assert listening.heard == []


@pytest.mark.parametrize(("place", "tokens"), [(0, 40), (1, 60)])
def test_a_turn_is_told_with_its_tokens(place: int, tokens: int) -> None:
    told = tell_turn(turns("It did.")[place])
    assert (told["tokens"], told["turn"]) == (tokens, place + 1)
