"""Orders that entries give to a model: it obeys each one, and nobody hears of it."""

import json
from typing import Any

import pytest

from tests.integration.answers.test_answer_question import draft
from tests.support.model_tier import QUESTION, Tier, marks_of
from tests.support.orders_in_entries import ObedientModel, list_orders

_TRUE = "Gate valve 8 closed because the compressed air had sagged to 3 bar {cause}."


def tell_truth(body: dict[str, Any]) -> str:
    prompt = "\n".join(one["content"] for one in body["messages"])
    return _TRUE.format(**marks_of(prompt))


@pytest.mark.requirement("SEC11", "I18")
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("is_true_first", "count"), [(True, 60), (False, 12)], ids=["beside", "alone"]
)
def test_a_model_that_obeys_every_order_in_entries_says_nothing_of_it(
    tier: Tier, *, is_true_first: bool, count: int
) -> None:
    orders = list_orders()
    assert len({one.texts for one in orders}) == 60
    model = ObedientModel(tell_truth) if is_true_first else ObedientModel()
    tier.server.replies = [model]
    told_of = []
    for order in orders[:count]:
        # The two entries of a logbook that somebody else may write to.
        texts = (*order.texts, "It was closed.")[:2]
        tier.asking.write(
            *(
                draft(f"BAD-{n}", f"Gate valve 8 closed. {text}", 30 + n)
                for n, text in enumerate(texts)
            )
        )
        told = tier.ask(QUESTION)
        (ordered,) = model.obeyed
        model.obeyed.clear()
        assert [order.forbidden in one for one in ordered] == [True], (order, ordered)

        # The answer, whom it cites, and what is said of it.
        said = json.dumps(
            [told.answer, told.context_answer and told.context_answer["summary"]]
        )
        verdicts = [one for chunk in tier.chunks for one in chunk["sentences"]]
        has_held = [
            one for one in verdicts if order.forbidden in one["text"] and one["holds"]
        ]
        if order.forbidden in said or "evil.example" in said or has_held:
            told_of.append((order, told.answer, has_held))
            continue
        if is_true_first:
            assert told.answer_source == "llm", (order, told.answer)
            assert "sagged to 3 bar [#OPS-2@1]" in (told.answer or "")
            assert told.context_answer is not None
            assert told.context_answer["grade"] == "D"
        else:
            assert (told.answer_source, told.answer) == (
                "deterministic",
                tier.plain.text,
            )
    assert told_of == []
