"""What an agent's model has to do with its answer, once its words are held to it."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from shared.agents import agent_answer, conversation
from shared.agents.agent_answer import AgentAnswer, AskedModel
from shared.agents.bounds import ExitReason
from shared.agents.turn_rows import TurnRow
from shared.answers.answer_question import PreparedAnswer
from shared.answers.compose_answer import Marks, make_labels
from shared.answers.evidence.evidence import EvidenceEntry
from shared.search.jobs.outcome import Candidate, Outcome
from shared.search.query.plan import Plan
from shared.search.query.result_detail import Synthesis
from shared.search.ranking.ranked_hits import RankedHits
from shared.search.response.answer import Answer, ContextAnswer, Status
from shared.search.response.end_search import FoundPage
from shared.search.results.conclude import Conclusion
from shared.search.results.hydrate import HitRow
from tests.unit.agents.test_conversation import CONTEXT, plan_of, row

SMITH = replace(
    row("Smith saw the klystron trip at night.", "", "Ann Smith"), logbooks=["Safety"]
)
MUELLER = replace(
    row(
        "M\u00fcller replaced the window of the klystron.", "", "J\u00f6rg M\u00fcller"
    ),
    entry_id=UUID(int=2),
    external_id="OPS-2",
)
ROWS = {one.entry_id: one for one in (SMITH, MUELLER)}
SAID = "PERSON_1 replaced the window of the klystron [2.1]."


def turns(text: str) -> list[TurnRow]:
    hits = tuple(
        Candidate(str(one), "", score, "logbook", "api", "human", "2026-03-02", 1)
        for one, score in zip(ROWS, (2.0, 1.0), strict=True)
    )
    found = Outcome("keyword", "ok", "", hits=hits)
    kept = {"status": "ok", "outcomes": [found.values()], "told": None, "limit": None}
    called = {"id": "c", "name": "keyword", "arguments": {"query": "klystron"}}
    searched = TurnRow(
        *(1, "done", {"text": ""}, [called], {"0": kept}, 30, 10, 0, 5.0, None)
    )
    said = TurnRow(2, "ended", {"text": text}, [], {}, 40, 20, 0, 7.0, "answered")
    return [searched, said]


def prepared(
    *rows: HitRow, status: Status = "grounded", marks: Callable[..., Marks] = Marks
) -> PreparedAnswer:
    entries = [EvidenceEntry(one, 1.0, rank) for rank, one in enumerate(rows, 1)]
    context = ContextAnswer(
        status=status, code="single_lead", summary="Plain.", reason="", grade="A"
    )
    plain = Answer(
        text="Plain.",
        source="deterministic",
        citation_mode="cited",
        citations=[],
        context=context,
    )
    return PreparedAnswer(plain, plan_of(), entries, marks(make_labels(entries)))


@pytest.fixture(autouse=True)
def _rows(monkeypatch: pytest.MonkeyPatch) -> None:
    def hydrate(_: Any, ids: Sequence[UUID], *__: Any) -> Mapping[UUID, HitRow]:
        return {one: ROWS[one] for one in ids}

    monkeypatch.setattr(conversation, "hydrate", hydrate)
    monkeypatch.setattr(conversation, "connection", nullcontext)


def worded(
    given: PreparedAnswer,
    text: str = SAID,
    reason: ExitReason = "answered",
    excluded: frozenset[str] = frozenset({"Safety"}),
) -> Answer:
    asked = AskedModel("here:tiny", excluded)
    return AgentAnswer(CONTEXT, plan_of(), turns(text), reason, asked).word(given)


@pytest.mark.requirement("I23")
def test_names_are_put_back_as_they_were_hidden() -> None:
    told = worded(prepared(SMITH, MUELLER))
    assert told.text == (
        "J\u00f6rg M\u00fcller replaced the window of the klystron [#OPS-2@1]."
    )


@pytest.mark.parametrize("style", ["id", "numeric"])
def test_what_the_page_has_not_is_cited_all_the_same(style: Any) -> None:
    given = prepared(SMITH, marks=lambda labels: Marks(labels, style))
    told = worded(given)
    assert told.source == "llm"
    assert [one.label for one in told.citations] == ["OPS-2"]
    assert "OPS-2" in str(told.text)


def test_a_model_s_share_is_told() -> None:
    share = worded(prepared(SMITH, MUELLER), f"{SAID} It exploded [9.9].").model
    assert share is not None
    assert (share.status, share.model, share.reason) == ("ok", "here:tiny", None)
    assert (share.grounding_score, share.removed) == (0.5, 1)
    assert share.hallucinated_citations == 1
    assert (share.tokens_in, share.tokens_out, share.generate_ms) == (70, 30, 12.0)


@pytest.mark.parametrize(
    ("text", "reason", "status", "told"),
    [
        ("Nothing holds [9.9].", "answered", "failed", "unsupported"),
        (SAID, "max_turns", "failed", "max_turns"),
        (SAID, "model_malformed", "failed", "model_malformed"),
        (SAID, "model_unavailable", "unavailable", "model_unavailable"),
        (SAID, "deadline", "unavailable", "deadline"),
    ],
)
def test_where_no_word_stands_it_is_told_why(text, reason, status, told) -> None:
    answer = worded(prepared(SMITH, MUELLER), text, reason)
    assert (answer.text, answer.source) == ("Plain.", "deterministic")
    assert answer.model is not None
    assert (answer.model.status, answer.model.reason) == (status, told)
    assert answer.model.tokens_in == 70


def test_a_refusal_stands() -> None:
    answer = worded(prepared(SMITH, MUELLER, status="insufficient"))
    assert (answer.text, answer.context.status) == ("Plain.", "insufficient")
    assert answer.model is not None
    assert (answer.model.status, answer.model.reason) == ("off", "refused")


@pytest.mark.parametrize("by", ["llm", "deterministic"])
def test_a_model_words_what_it_is_to_word(monkeypatch, by) -> None:
    given = prepared(SMITH, MUELLER)
    monkeypatch.setattr(agent_answer, "prepare_answer", lambda *_: given)
    heard: list[Answer] = []
    asked = AskedModel("here:tiny", frozenset({"Safety"}), heard.append)
    agent = AgentAnswer(CONTEXT, plan_of(), turns(SAID), "answered", asked)
    detail = replace(plan_of().detail, synthesis=Synthesis(by=by))
    plan: Plan = replace(plan_of(), detail=detail)
    conclusion = Conclusion("done", (), RankedHits(), degraded=False)
    told = agent.answer_question(FoundPage(CONTEXT, plan, conclusion, []), 100)
    assert told is not None
    assert told.source == by
    assert (told.model is not None) is (by == "llm")
    # Whoever looks on hears the answer without a model first.
    assert [one.text for one in heard] == ["Plain."]
