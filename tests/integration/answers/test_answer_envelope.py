"""What stands about an answer: bounded, from one card, and what to ask instead."""

from typing import Any

import pytest

from shared.entries.draft import EntryDraft
from shared.search.response.search_answer import SearchAnswer
from tests.support.fixtures.asking import Asking

CAUSES = (
    *("the compressed air sagged", "its fuse had blown", "a cable was loose"),
    *("the limit switch was wet", "its solenoid leaked", "the interlock chain opened"),
)


def context_of(told: SearchAnswer) -> dict[str, Any]:
    assert told.context_answer is not None
    return dict(told.context_answer)


@pytest.mark.requirement("S4-37", "S4-38")
def test_an_answer_of_many_parts_lists_five_pieces_of_evidence_at_most(asking) -> None:
    asking.write(
        *(
            EntryDraft(
                "api",
                f"OPS-{n}",
                f"Gate valve {n} closed because {cause}. It was opened again.",
                title=f"Gate valve {n} closed",
            )
            for n, cause in enumerate(CAUSES, 1)
        )
    )
    parts = [f"why did gate valve {n} close" for n in range(1, len(CAUSES) + 1)]

    told = asking.answer_with_cards(" and ".join(parts) + "?", limit=20)

    context = context_of(told)
    assert {"code", "summary", "reason", "evidence", "citations"} <= context.keys()
    assert all(isinstance(context[name], str) for name in ("code", "summary", "reason"))
    assert len(context["evidence"]) <= 5
    assert len(context["citations"]) <= 5
    for one in context["evidence"]:
        assert {"entry_id", "revision", "quote", "score", "start", "end"} <= one.keys()
    assert context["evidence"]


@pytest.mark.requirement("S4-39")
def test_what_is_offered_instead_of_a_refusal_is_answered(asking: Asking) -> None:
    asking.write(
        EntryDraft("api", "1", "Turbine 1 of the cold box was greased."),
        EntryDraft("api", "2", "Turbine 2 of the cold box stopped on bearing wear."),
        EntryDraft("api", "3", "Turbine 3 of the cold box stopped on low oil."),
    )
    context = context_of(
        asking.answer_with_cards("Why did turbine 5 of the cold box stop?")
    )

    assert context["status"] != "grounded"
    assert len(context["questions"]) == 2
    for question in context["questions"]:
        assert "turbine 5" not in question
        answered = context_of(asking.answer_with_cards(question))
        assert answered["status"] == "grounded", question


@pytest.mark.requirement("S4-67", "S4-64")
def test_one_clear_leader_is_one_decisive_answer_of_one_card(asking: Asking) -> None:
    asking.write(
        EntryDraft(
            "api",
            "1",
            "GV-08 closed because the compressed air had sagged to 3 bar.",
            title="GV-08 closed",
        ),
        EntryDraft("api", "2", "QF9 tripped on overtemperature.", title="QF9"),
    )

    told = asking.answer_with_cards("Why did GV-08 close?")

    context = context_of(told)
    assert (context["status"], context["code"]) == ("grounded", "single_lead")
    assert "sagged to 3 bar" in (told.answer or "")
    (card,) = [one for one in told.cards if one.type == "entity"]
    assert {one.entry_id for one in told.citations} <= {*card.entry_ids}
