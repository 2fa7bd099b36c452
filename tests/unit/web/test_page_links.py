"""Links of pages lead where there is something, and keep what was chosen."""

from __future__ import annotations

import json

from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

import pytest
from fastapi import Response

from api.operations.routes import quarantine
from api.server.json_response import as_json
from api.sources.routes import sources
from api.web import page_filters
from api.web.routes import job_pages
from shared.access.scope import Scope
from shared.errors import NotFoundError
from shared.ids import uuid7
from tests.support.read_page import read_page
from tests.support.web_app import browse


@pytest.mark.parametrize("path", ["/help", "/login"])
def test_a_page_without_data_offers_none(path: str) -> None:
    page = read_page(browse(path).text)

    assert "this page as JSON" not in page.one("footer").text
    assert page.one("footer").link("API") == "/docs"


def test_older_quarantined_are_of_the_same_source_and_stage(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    listed = as_json({"items": [], "next_cursor": "further"})
    monkeypatch.setattr(quarantine, "list_quarantine", lambda *_, **__: listed)
    admin = Scope("main", "anna", allowed=frozenset({"admin"}))

    page = read_page(browse("/quarantine?source=ops&stage=embed", scope=admin).text)

    assert parse_qs(urlsplit(page.link("Older")).query) == {
        "source": ["ops"],
        "stage": ["embed"],
        "cursor": ["further"],
    }


def test_a_retry_leads_back_to_the_quarantined_of_that_source(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    retried: list[UUID] = []
    monkeypatch.setattr(
        quarantine, "retry_one", lambda chosen, *_: retried.append(chosen)
    )
    admin = Scope("main", "anna", allowed=frozenset({"admin"}))
    form = {"id": str(uuid7()), "action": "retry"}

    answer = browse("/quarantine?source=ops&stage=embed", scope=admin, form=form)

    assert [str(one) for one in retried] == [form["id"]]
    assert answer.headers["location"] == "/quarantine?source=ops&stage=embed"


def test_a_source_whose_name_holds_a_slash_has_a_page(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
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
    assert page_filters.segment("ops/mcr%") == "ops%2Fmcr%25"


@pytest.mark.parametrize(
    ("filters", "links"),
    [
        ({"logbook": "ops"}, ["/search?q=valve&mode=keyword&logbook=ops"]),
        ({"logbook": {"not": "ops"}}, []),
    ],
)
def test_a_job_is_asked_again_as_it_was_or_not_at_all(
    monkeypatch: pytest.MonkeyPatch, filters: dict[str, Any], links: list[str]
) -> None:
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

    monkeypatch.setattr(job_pages, "get_job", get_job)
    asker = Scope("main", "anna", allowed=frozenset({"search"}))

    noted: list[Any] = []
    telemetry = SimpleNamespace(note_job=lambda *told: noted.append(told))

    page = read_page(browse(f"/jobs/{job_id}", scope=asker, telemetry=telemetry).text)

    assert [(str(one), json.loads(said)) for one, said in noted] == [
        (job_id, body["response"])
    ]
    found = [one["href"] for one in page.every("a") if one.text == "Ask it again"]
    assert found == links
