"""Links of pages lead where there is something, and keep what was chosen."""

import json
import time
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

import pytest
from fastapi import Response

from api.operations.routes import quarantine
from api.search.search_planner import SearchPlanner
from api.server.json_response import as_json
from api.sources.routes import sources
from api.web import template_filters
from api.web.routes import job_pages, source_pages
from api.web.routes.home_page import forms_of
from shared.access.scope import Scope
from shared.errors import NotFoundError
from shared.ids import uuid7
from shared.search.query.plan import SearchQuery
from shared.settings.settings import Settings
from tests.support.read_page import read_page
from tests.support.web_app import browse


@pytest.mark.parametrize("path", ["/help", "/login"])
def test_a_page_without_data_offers_none(path: str) -> None:
    page = read_page(browse(path).text)

    assert "this page as JSON" not in page.one("footer").text
    assert page.one("footer").link("API") == "/docs"


def test_older_quarantined_are_of_the_same_source_and_stage(monkeypatch) -> None:
    listed = as_json({"items": [], "next_cursor": "further"})
    monkeypatch.setattr(quarantine, "list_quarantine", lambda *_, **__: listed)
    admin = Scope("main", "anna", allowed=frozenset({"admin"}))

    page = read_page(browse("/quarantine?source=ops&stage=embed", scope=admin).text)

    assert parse_qs(urlsplit(page.link("Older")).query) == {
        "source": ["ops"],
        "stage": ["embed"],
        "cursor": ["further"],
    }


def test_a_retry_leads_back_to_the_quarantined_of_that_source(monkeypatch) -> None:
    retried: list[UUID] = []
    monkeypatch.setattr(
        quarantine, "retry_one", lambda chosen, *_: retried.append(chosen)
    )
    admin = Scope("main", "anna", allowed=frozenset({"admin"}))
    form = {"id": str(uuid7()), "action": "retry"}

    answer = browse("/quarantine?source=ops&stage=embed", scope=admin, form=form)

    assert [str(one) for one in retried] == [form["id"]]
    assert answer.headers["location"] == "/quarantine?source=ops&stage=embed"


@pytest.mark.parametrize(
    ("form", "status", "given"),
    [
        ({"action": "discard", "reason": " a test "}, 303, ["a test"]),
        ({"action": "discard", "reason": " "}, 422, []),
        ({"action": "discard"}, 422, []),
    ],
)
def test_what_was_quarantined_is_discarded_for_a_reason_alone(
    monkeypatch: pytest.MonkeyPatch, form: dict[str, str], status: int, given: list[str]
) -> None:
    said: list[str] = []
    monkeypatch.setattr(quarantine, "discard", lambda *_, reason: said.append(reason))
    admin = Scope("main", "anna", allowed=frozenset({"admin"}))

    answer = browse("/quarantine", scope=admin, form={"id": str(uuid7()), **form})

    assert (answer.status_code, said) == (status, given)


@pytest.mark.parametrize("action", ["trigger", "pause", "resume", "drop"])
def test_a_source_is_run_paused_and_resumed_by_a_form(monkeypatch, action) -> None:
    done: list[tuple[str, str]] = []
    assert source_pages.ACTIONS["pause"] is sources.pause_source
    assert source_pages.ACTIONS["resume"] is sources.resume_source
    for name in source_pages.ACTIONS:
        monkeypatch.setitem(
            *(source_pages.ACTIONS, name),
            lambda source, *_, name=name: done.append((name, source)),
        )
    admin = Scope("main", "anna", allowed=frozenset({"admin"}))

    answer = browse("/sources/ops%2Fmcr", scope=admin, form={"action": action})

    if action == "drop":
        assert (answer.status_code, done) == (422, [])
    else:
        assert done == [(action, "ops/mcr")]
        assert answer.headers["location"] == "/sources/ops%2Fmcr"
    reader = Scope("main", "ben", allowed=frozenset({"read"}))
    refused = browse("/sources/ops", scope=reader, form={"action": "pause"})
    assert refused.status_code == 403


def test_where_to_write_is_told_of_sources_that_are_shown() -> None:
    writes = {"adapter": "olog", "new_entry_url": "https://log.example/new"}
    settings = Settings(
        sources={"ops": writes, "rf": {"adapter": "olog"}, "als": writes}
    )

    forms = forms_of(
        settings, [{"source": "ops"}, {"source": "rf"}, {"source": "gone"}]
    )

    assert forms == {"ops": "https://log.example/new"}


@pytest.mark.parametrize(
    ("total", "complete", "said"),
    [
        ({"exact": True, "lower_bound": 73}, False, "of all 73 that match"),
        ({"exact": False, "lower_bound": 50}, False, "of 50 or more"),
        ({"exact": False, "lower_bound": 50}, True, "and nothing else was found"),
    ],
)
def test_how_many_match_is_said_as_it_is_known(total, complete, said) -> None:
    body = {"total_candidates": total, "complete": complete}
    assert template_filters.amount(body) == said


def test_a_source_whose_name_holds_a_slash_has_a_page(monkeypatch) -> None:
    asked: list[str] = []

    def get_source(name: str, *_: object) -> Response:
        asked.append(name)
        raise NotFoundError

    monkeypatch.setattr(sources, "get_source", get_source)
    anna = Scope("main", "anna", allowed=frozenset({"read"}))

    # As its link is written, in either spelling; a slash is a slash nowhere else.
    for written in ("ops%2Fmcr", "ops%2fmcr%25", "ops/mcr"):
        assert browse(f"/sources/{written}", scope=anna).status_code == 404

    assert asked == ["ops/mcr", "ops/mcr%"]
    assert template_filters.segment("ops/mcr%") == "ops%2Fmcr%25"


@pytest.mark.parametrize(
    ("filters", "links"),
    [
        ({"logbook": "ops"}, ["/search?q=valve&mode=keyword&logbook=ops"]),
        ({"logbook": {"not": "ops"}}, []),
    ],
)
def test_a_job_is_asked_again_as_it_was_or_not_at_all(monkeypatch, filters, links):
    job_id = str(uuid7())
    body = {
        "job_id": job_id,
        "state": "done",
        "cancelled": False,
        "created_at": "2026-02-03T02:30:00Z",
        "ended_at": "2026-02-03T02:30:01Z",
        "request": {"query": "valve", "mode": "keyword", "filters": filters},
        "queue_position": None,
        "branches": [],
        "error": None,
        "response": {
            "results": [],
            "citations": [],
            "cards": [],
            "reasoning": "",
            **dict.fromkeys(("answer", "context_answer", "answer_source")),
            "llm_status": None,
            "method_used": "keyword",
        },
        "replay": None,
    }

    async def get_job(*_: object) -> Response:
        return as_json(body)

    def planned(*_: object) -> Any:
        nothing: Any = None
        planner = SearchPlanner(Settings(), nothing, time.time, nothing, nothing)
        plan = planner.plan(SearchQuery("valve", mode="keyword"), asker)
        return SimpleNamespace(plan=json.loads(plan.to_json()))

    monkeypatch.setattr(job_pages, "get_job", get_job)
    monkeypatch.setattr(job_pages, "own_jobs", SimpleNamespace(find=planned))
    asker = Scope("main", "anna", allowed=frozenset({"search"}))

    noted: list[Any] = []
    telemetry = SimpleNamespace(note_job=lambda *told: noted.append(told))

    page = read_page(browse(f"/jobs/{job_id}", scope=asker, telemetry=telemetry).text)

    assert [(str(one), json.loads(said)) for one, said in noted] == [
        (job_id, body["response"])
    ]
    plan = page.one("dl", id="plan")
    told = {
        term.text: said.text
        for term, said in zip(plan.every("dt"), plan.every("dd"), strict=True)
    }
    assert told["mode"].startswith("keyword")
    assert (told["branches"], told["deadline"]) == ("pg_fts", "2000 ms")
    assert "parts" not in told
    found = [one["href"] for one in page.every("a") if one.text == "Ask it again"]
    assert found == links
