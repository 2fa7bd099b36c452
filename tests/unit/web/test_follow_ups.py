"""What may be asked next: of things that an answer is about, and what has answers."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from api.web import chips
from api.web.chips import (
    ChipCache,
    find_follow_ups,
    rotate_questions,
    suggest_questions,
)
from shared.access.scope import Scope
from shared.answers.evaluate_suggestion import Suggestion
from shared.search.pipelines.plan_settings import calendar_of
from shared.settings.settings import Settings

CARDS = [
    {"type": "entity", "title": "GV-08"},
    {"type": "thread", "title": "Gate valve 8 closed"},
    {"type": "entity", "title": "Compressor 2"},
    {"type": "entity", "title": "IP14"},
]


def context(viable: Sequence[str] | None) -> tuple[Any, list[str]]:
    """Return where these questions, or all, have answers, and what will be tried."""
    tried: list[str] = []

    def evaluate(queries: Sequence[str], *_: object) -> list[Suggestion]:
        tried.extend(queries)
        return [
            Suggestion(
                one,
                "grounded" if viable is None or one in viable else "no_match",
                scope_ready=True,
            )
            for one in queries
        ]

    async def of(_: str) -> object:
        return None

    calendar = replace(calendar_of(Settings()), now=datetime.now(UTC))
    searches = SimpleNamespace(glossaries=SimpleNamespace(of=of), calendar=calendar)
    ctx: Any = SimpleNamespace(
        settings=Settings(),
        searches=searches,
        suggestions=SimpleNamespace(evaluate=evaluate),
    )
    return ctx, tried


def asked_next(question: str, viable: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return what is offered behind a question, and all that was tried."""
    ctx, tried = context(viable)
    caller: Any = SimpleNamespace(scope=Scope("main", "anna"))
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


def entry(name: str, *, kind: str = "logbook", hours: float = 0) -> dict[str, Any]:
    at = datetime.now(UTC) - timedelta(hours=hours)
    return {
        "entry_id": f"id of {name}",
        "kind": kind,
        "title": f"{name} tripped",
        "entry_time": at.isoformat(),
        "entities": [{"kind": "device", "name": name}],
    }


def test_open_incidents_come_first_then_devices_of_the_day_then_the_rest() -> None:
    old = entry("GV-08", kind="incident", hours=80)
    solved = entry("IP14", kind="incident")
    unsolved = entry("PS3", kind="incident")
    listed = [solved, unsolved, entry("Q1", hours=23), entry("Q2", hours=25), old]

    groups = suggest_questions(listed, {unsolved["entry_id"]}, datetime.now(UTC))

    assert groups[0] == ["when did PS3 last trip", "PS3 tripped"]
    of_day = ["what happened with IP14", "what happened with PS3"]
    assert groups[1] == [*of_day, "what happened with Q1"]
    assert "when did GV-08 last trip" in groups[2]
    assert "what happened with Q2" in groups[2]


def test_chips_are_tried_once_for_each_caller_while_their_entries_are_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # All within one stretch of five minutes.
    monkeypatch.setattr(chips, "_BUCKET_SECONDS", 10**10)
    ctx, tried = context(None)
    cache = ChipCache()
    listed = [entry(f"Q{n}") for n in range(4)]

    def shown(name: str, entries: Sequence[Any]) -> list[str]:
        caller: Any = SimpleNamespace(scope=Scope("main", name))
        return asyncio.run(cache.find_chips(ctx, caller, entries))

    first = shown("anna", listed)
    assert len(first) == 3
    times = len(tried)
    assert shown("anna", listed) == first
    assert len(tried) == times
    shown("ben", listed)
    assert len(tried) > times
    (gone,) = [one for one in listed if one["entities"][0]["name"] in first[0]]
    left = shown("anna", [one for one in listed if one is not gone])
    assert first[0] not in left
    assert len(left) == 3


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
