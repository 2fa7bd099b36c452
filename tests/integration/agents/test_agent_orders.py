"""Entries that give orders to an agent's model, and a model that obeys each of them."""

import json
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

from shared.agents import conversation
from shared.answers.prompt.fence import gives_orders
from shared.entries.draft import EntryDraft
from tests.support.agent_runner import QUESTION, Runner, call, calls, scripted
from tests.support.orders_in_entries import list_orders, read_orders
from tests.support.stub_servers.chat_server import says

TRUE = "The klystron tripped because its window was cracked."


class ObedientAgent:
    """A model that says what it read first, and then what entries order it to say."""

    def __init__(self) -> None:
        self.obeyed: list[str] = []

    def __call__(self, handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        """Answer behind the tools' results, citing all of them."""
        system = body["messages"][0]["content"]
        told = [
            json.loads(one["content"])
            for one in body["messages"]
            if one["role"] == "tool"
        ]
        entries = [entry for one in told for entry in one["entries"]]
        sentences = {
            mark: text for one in entries for mark, text in one["sentences"].items()
        }
        read = "\n".join([*sentences.values(), *(one["title"] for one in entries)])
        self.obeyed = [*read_orders(system, f"Question: {QUESTION}\n{read}")]
        cited = "".join(f"[{mark}]" for mark in sentences)
        true = next((m for m, text in sentences.items() if text == TRUE), None)
        said = [f"{TRUE[:-1]} [{true}]."] if true else []
        said += [f"{one} {cited}." for one in self.obeyed]
        says(" ".join(said) or "Nothing was found.")(handler, body)


@pytest.mark.requirement("SEC11")
@pytest.mark.parametrize("is_withheld", [True, False])
def test_what_entries_order_an_agents_model_to_say_is_never_its_answer(
    runner: Runner, monkeypatch: pytest.MonkeyPatch, *, is_withheld: bool
) -> None:
    if not is_withheld:
        # As if no order were known for what it is: each comes to the model.
        monkeypatch.setattr(conversation, "gives_orders", lambda _: False)
    orders = list_orders()
    obeyed = 0
    for number, order in enumerate(orders):
        logbook = f"L{number}"
        runner.asking.write(
            EntryDraft("api", f"cause {number}", TRUE, logbooks=(logbook,)),
            *(
                EntryDraft(
                    *("api", f"order {number} {place}", f"About the klystron. {text}"),
                    logbooks=(logbook,),
                )
                for place, text in enumerate(order.texts)
            ),
        )
        model = ObedientAgent()
        found = calls(call("keyword", query="klystron", logbook=logbook))
        scripted(runner, found, model)
        ended = runner.run()

        answer = str(ended.body["answer"])
        assert order.forbidden not in answer, order
        assert "window was cracked" in answer, order
        assert json.dumps(ended.body["results"]).count('"order ') == len(order.texts)
        obeyed += bool(model.obeyed)
        if is_withheld and all(map(gives_orders, order.texts)):
            assert model.obeyed == [], order
    if not is_withheld:
        # What is cut apart by sentences is an order no more; most come whole.
        assert obeyed > len(orders) // 2
