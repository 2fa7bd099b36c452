"""A tier of models over a scripted endpoint, asked over a small logbook."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shared.answers.answer_question import Preparing
from shared.answers.worded.model_tier import Listener, ModelTier
from shared.language_models.quota import Quota
from shared.search.query.plan import PlanLimits, SearchQuery, make_plan
from shared.search.query.wanted_answer import AnswerLimits
from shared.search.response import end_search as ending
from shared.search.response.end_search import Beside, end_search
from shared.search.response.search_answer import SearchAnswer
from shared.settings.settings import Settings
from tests.support.ended_searches import job_of
from tests.support.fixtures.asking import ANNA, CLOCK, Asking
from tests.support.stub_servers.chat_server import ChatScript, Reply, says

QUESTION = "Why did gate valve 8 close?"
GOOD = (
    "Gate valve 8 closed because the compressed air had sagged to 3 bar {cause}."
    " The beam was lost at 400 mA {lost}."
)


@dataclass
class Tier:
    """A tier over a scripted endpoint, and what was handed on of its last answer."""

    asking: Asking
    server: ChatScript
    given: dict[str, Any] = field(default_factory=dict)
    # Settings of `pipelines.rag`.
    rag: dict[str, Any] = field(default_factory=dict)
    chunks: list[Mapping[str, Any]] = field(default_factory=list)
    quota: Any = None
    # Of the last question.
    plan: Any = None
    worded: Any = None
    # The answer that no model has worded.
    plain: Any = None

    def settings(self) -> Settings:
        provider = {"base_url": self.server.url, "timeout_seconds": 5}
        return Settings.model_validate(
            {
                "api": {"providers": {"here": {**provider, **self.given}}},
                "reasoning": {"provider": "here", "model_id": "tiny"},
                "pipelines": {"rag": self.rag},
            }
        )

    def ask(self, query: str = QUESTION, *replies: Reply, **more: Any) -> SearchAnswer:
        self.server.replies = list(replies) or self.server.replies
        question = SearchQuery(query, **{"mode": "hybrid", "synthesize": "llm", **more})
        limits = PlanLimits(opensearch=False, answers=AnswerLimits(has_writer=True))
        plan = make_plan(question, ANNA, limits, CLOCK)
        context, preparing = self.asking.context, Preparing()
        ended = end_search(
            context,
            job_of(context, plan),
            plan,
            self.asking.carried_out(plan),
            Beside(preparing),
        )
        assert preparing.prepared is not None
        self.plain = preparing.prepared.answer
        take = self.quota or (lambda _: Quota(is_allowed=True, remaining=9))
        tier = ModelTier(self.settings(), take)
        self.chunks.clear()
        listener = Listener(self.chunks.append)
        worded = tier.word(preparing.prepared, 5.0, listener)
        self.plan, self.worded = plan, worded
        response = ending.reword(plan, ended, worded).answer
        assert response is not None
        return response


def marks_of(prompt: str) -> dict[str, str]:
    """Return the marks that a prompt gives, by words of their sentences."""
    lines = re.findall(r"^\[(\d+\.\d+)\] (.+)$", prompt, re.MULTILINE)
    found = {}
    for mark, text in lines:
        if "sagged to 3 bar" in text:
            found["cause"] = f"[{mark}]"
        if "400 mA" in text:
            found["lost"] = f"[{mark}]"
    return found


def saying(text: str) -> Reply:
    """Return a reply of that text, its marks taken from the prompt."""

    def reply(handler: Any, body: dict[str, Any]) -> None:
        prompt = "\n".join(one["content"] for one in body["messages"])
        says(text.format(**marks_of(prompt)))(handler, body)

    return reply
