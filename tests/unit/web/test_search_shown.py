"""What the search page says where something was not searched or not counted."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from api.search.search_planner import SearchPlanner
from api.web.routes import search_page
from shared.access.scope import Scope
from shared.errors import LogchordError, OpenSearchError, SearchTimeoutError
from shared.ids import uuid7
from shared.search.jobs.outcome import Outcome, make_failure
from shared.search.query.glossary_expansions import Approved
from shared.search.query.plan import Plan
from shared.search.response.respond import respond
from shared.search.response.response_parts import parts_without_reading
from shared.search.results.conclude import conclude
from shared.settings.settings import Settings
from tests.support.read_page import Element, read_page
from tests.support.web_app import browse

ANNA = Scope("main", "anna", allowed=frozenset({"read", "search"}))
MEANING = Outcome("semantic", "empty", "cosine")
NO_WORDS = make_failure("os_bm25", "bm25", OpenSearchError())
WORDS = Outcome("os_bm25", "empty", "bm25")
LATE = SearchTimeoutError()
PAIR = ("beam", "strahl")


class Searches(SearchPlanner):
    """Plans as an API does; its searches come to what they are told to."""

    def __init__(
        self,
        outcomes: Sequence[Outcome],
        counted: SearchTimeoutError | None,
        told: Mapping[str, Any],
    ) -> None:
        super().__init__(Settings(), no_pool(), lambda: 0.0, no_pool, lambda: None)
        approved = Approved((PAIR,), self.facility)
        self.glossaries: Any = SimpleNamespace(of=_later(approved))
        self.counting: list[Plan] = []
        self._outcomes = outcomes
        self._counted = counted
        self._told = told

    async def ask(self, plan: Plan, *_: object) -> str:
        heard = {n: [one] for n, one in enumerate(self._outcomes)}
        ended = conclude(plan, heard)
        parts = parts_without_reading(plan, ended)
        answer = respond(plan, uuid7(), ended, [], parts, {"total": 1.0})
        return json.dumps({**answer.to_json(), **self._told})

    async def count_facets(self, plan: Plan) -> None:
        self.counting.append(plan)
        if self._counted is not None:
            raise self._counted


def _later(found: object) -> Any:
    async def of(_: str) -> object:
        return found

    return of


def no_pool() -> Any:
    """Return what nothing is read of here."""


def shown(
    monkeypatch: pytest.MonkeyPatch,
    outcomes: Sequence[Outcome],
    counted: SearchTimeoutError | None = LATE,
    **told: Any,
) -> tuple[Element, Searches]:
    searches = Searches(outcomes, counted, told)

    async def planned(question: Any, *_: object) -> Plan:
        return searches.plan(question, ANNA)

    monkeypatch.setattr(search_page, "planned", planned)
    telemetry = SimpleNamespace(is_on=False, note=lambda *_: None)
    answer = browse(
        "/search?q=beam&mode=hybrid", scope=ANNA, searches=searches, telemetry=telemetry
    )
    assert answer.status_code == 200
    return read_page(answer.text), searches


def test_nothing_found_where_a_part_failed_is_not_said_to_be_nothing(monkeypatch):
    page, _ = shown(monkeypatch, [NO_WORDS, MEANING])

    empty = page.one(cls="empty-unsearched")
    assert empty.one("h2").text == "Not all of it could be searched"
    assert empty.link("Try again") == "/search?q=beam&mode=hybrid"

    page, _ = shown(monkeypatch, [WORDS, MEANING])

    assert page.one(cls="empty-nothing").one("h2").text == "No results"


def test_what_is_not_read_yet_is_said_to_be_on_its_way(monkeypatch) -> None:
    coverage = {"waiting": 3, "sources": [], "nearest": []}

    page, _ = shown(monkeypatch, [WORDS, MEANING], coverage=coverage)

    empty = page.one(cls="empty-indexing")
    assert empty.one("h2").text == "Still reading"
    assert "3 entries wait to be read" in empty.text
    assert empty.link("Ask again") == "/search?q=beam&mode=hybrid"


def test_what_scored_too_low_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    below = {"count": 2, "threshold": 0.3}

    page, _ = shown(monkeypatch, [WORDS, MEANING], suppressed=below)

    assert "2 more scored below 0.3 and are not shown." in page.text


def test_a_source_that_is_late_is_named_above_the_hits(monkeypatch) -> None:
    at = (datetime.now(UTC) - timedelta(minutes=40)).isoformat()
    late = [{"source": "ops", "why": "not_answering", "answered_at": at}]

    page, _ = shown(monkeypatch, [WORDS, MEANING], sources_behind=late)

    said = page.one("div", cls="late").text
    assert said == (
        "ops is not answering, last read 40 min ago: something newer may be missing."
    )


@pytest.mark.parametrize(
    ("code", "wanted"),
    [
        ("broker_unavailable", "The message broker does not answer"),
        ("search_timeout", "No worker answered in time"),
        ("database_unavailable", "The database does not answer"),
    ],
)
def test_a_part_that_is_away_is_named_with_what_to_do(monkeypatch, code, wanted):
    async def planned(*_: object) -> Plan:
        raise LogchordError(code=code)

    monkeypatch.setattr(search_page, "planned", planned)

    answer = browse("/search?q=beam", scope=ANNA)

    page = read_page(answer.text)
    assert answer.status_code in {503, 504}
    assert page.one("p", cls="to-do").text.startswith(wanted)
    assert page.link("How the system is") == "/status"


@pytest.mark.parametrize("counted", [LATE, None])
def test_counts_that_were_not_made_are_said_to_be_missing(monkeypatch, counted) -> None:
    page, _ = shown(monkeypatch, [WORDS, MEANING], counted)

    said = page.one("aside", cls="counts").text
    assert said == "The counts could not be made in time."


def test_what_is_counted_is_searched_by_the_glossary_too(monkeypatch) -> None:
    _, searches = shown(monkeypatch, [WORDS, MEANING])

    (counting,) = searches.counting
    assert counting.words.glossary == (PAIR,)
