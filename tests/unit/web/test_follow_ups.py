"""What may be asked next: of things that an answer is about, and what has answers."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from api.web.chips import find_follow_ups, rotate_questions
from shared.access.scope import Scope
from shared.answers.evaluate_suggestion import Suggestion
from shared.settings.settings import Settings

CARDS = [
    {"type": "entity", "title": "GV-08"},
    {"type": "thread", "title": "Gate valve 8 closed"},
    {"type": "entity", "title": "Compressor 2"},
    {"type": "entity", "title": "IP14"},
]


def asked_next(question: str, viable: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return what is offered behind a question, and all that was tried."""
    tried: list[str] = []

    def evaluate(queries: Sequence[str], *_: object) -> list[Suggestion]:
        tried.extend(queries)
        return [
            Suggestion(
                one, "grounded" if one in viable else "no_match", scope_ready=True
            )
            for one in queries
        ]

    async def of(_: str) -> object:
        return None

    caller: Any = SimpleNamespace(scope=Scope("main", "anna"))
    ctx: Any = SimpleNamespace(
        settings=Settings(),
        searches=SimpleNamespace(glossaries=SimpleNamespace(of=of)),
        suggestions=SimpleNamespace(evaluate=evaluate),
    )
    found = asyncio.run(find_follow_ups(ctx, caller, question, {"cards": CARDS}))
    return found, tried


def test_two_questions_that_have_answers_are_offered() -> None:
    tries = ["when did GV-08 last trip", "when did Compressor 2 last trip"]

    offered, tried = asked_next("why did it close?", tries[1:])

    assert tried == tries
    assert offered == tries[1:]


def test_what_was_just_asked_is_not_offered_again() -> None:
    _, tried = asked_next("When did GV-08 last trip?", [])

    assert tried == ["what happened with GV-08", "when did Compressor 2 last trip"]


@pytest.mark.requirement("S4-39")
def test_chips_of_a_caller_stay_for_five_minutes_and_then_begin_elsewhere() -> None:
    questions = [f"what happened with P{n}" for n in range(8)]
    anna, ben = (Scope("main", name) for name in ("anna", "ben"))

    first = rotate_questions(questions, anna, 600)

    assert rotate_questions(questions, anna, 899) == first
    assert sorted(first) == questions
    at = range(0, 30 * 300, 300)
    begins = {rotate_questions(questions, anna, one)[0] for one in at}
    assert len(begins) > 4
    assert any(
        rotate_questions(questions, anna, one) != rotate_questions(questions, ben, one)
        for one in at
    )
    assert rotate_questions([], anna, 600) == []
