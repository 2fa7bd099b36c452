"""What the search page asks for, and what it makes of a search that goes on."""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, ClassVar
from uuid import UUID

import pytest

from api.search.telemetry import AskedQuestion
from api.web.routes import search_page
from shared.access.scope import Scope
from shared.errors import LogchordError, SearchTimeoutError
from shared.ids import uuid7
from shared.search.jobs.job import Job
from shared.settings.settings import Settings
from tests.support.read_page import read_page
from tests.support.web_app import HTML, WINDOW, browse

ANNA = Scope("main", "anna", allowed=frozenset({"read", "search"}))


class Searches:
    """Answers every search as `Searches.ask` does one that outlasts its asker."""

    def __init__(self, job: Job | Exception) -> None:
        self._job = job

    async def ask(self, *_: object) -> Job:
        if isinstance(self._job, Exception):
            raise self._job
        return self._job


class Telemetry:
    """Is on, and has been told which job is expected, for which visit."""

    is_on = True
    expected: ClassVar[list[Any]] = []

    def expect_job(self, job_id: UUID, asked: AskedQuestion) -> None:
        whose = (asked.tenant, asked.query, asked.session_id, asked.rescue)
        self.expected[:] = (job_id, *whose)


def asked(
    monkeypatch: pytest.MonkeyPatch,
    path: str,
    settings: Settings | None = None,
    headers: Mapping[str, str] = HTML,
    trouble: Exception | None = None,
) -> tuple[list[Any], Job, Any]:
    questions: list[Any] = []

    async def planned(question: Any, *_: object) -> Any:
        questions.append(question)
        return SimpleNamespace(query=question.query)

    monkeypatch.setattr(search_page, "planned", planned)
    job = Job(uuid7(), "main", "anna", None, "{}", 1, 0.0, 1.0, submitted=True)
    answer = browse(
        path,
        scope=ANNA,
        settings=settings,
        headers=headers,
        searches=Searches(trouble or job),
        telemetry=Telemetry(),
    )
    return questions, job, answer


@pytest.mark.parametrize(
    ("twin", "headers"), [("", HTML), (".json", HTML), (".json", WINDOW)]
)
def test_a_search_that_outlasts_its_asker_is_followed_on_its_own_page(
    monkeypatch: pytest.MonkeyPatch, twin: str, headers: Mapping[str, str]
) -> None:
    path = f"/search{twin}?q=valve&via=meant"
    _, job, answer = asked(monkeypatch, path, headers=headers)

    assert answer.status_code == 303
    assert answer.headers["location"] == f"/jobs/{job.job_id}{twin}"
    visit = answer.cookies.get("visit")
    assert (visit is None) == bool(twin)
    assert Telemetry.expected == [job.job_id, "main", "valve", visit, "meant"]


def test_a_browser_that_shows_the_box_already_is_led_to_the_search_that_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, job, answer = asked(monkeypatch, "/search?q=valve&via=meant", headers=WINDOW)

    assert answer.status_code == 200
    page, place = read_page(answer.text), f"/jobs/{job.job_id}"
    assert page.one("input", id="q")["value"] == "valve"
    refresh = {"http-equiv": "refresh"}
    assert page.one("meta", **refresh)["content"] == f"0; url={place}"
    assert page.link("follow it") == place
    visit = answer.cookies["visit"]
    assert Telemetry.expected == [job.job_id, "main", "valve", visit, "meant"]


@pytest.mark.parametrize(
    ("trouble", "head", "code"),
    [
        (SearchTimeoutError(), "Search is down", "504 search_timeout"),
        (LogchordError(code="broker_unavailable"), "Search is down", "503 broker"),
        (RuntimeError("unforeseen"), "Not available", "500 internal"),
    ],
)
def test_a_browser_that_shows_the_box_already_is_told_below_it_what_failed(
    monkeypatch: pytest.MonkeyPatch, trouble: Exception, head: str, code: str
) -> None:
    _, _, answer = asked(
        monkeypatch, "/search?q=valve", headers=WINDOW, trouble=trouble
    )

    page = read_page(answer.text)
    assert page.one("input", id="q")["value"] == "valve"
    assert [one.text for one in page.every("h1")] == [head]
    assert code in page.one("main").text
    assert page.link("How the system is") == "/status"
    assert len([*page.every("footer")]) == 1
    assert "unforeseen" not in answer.text


@pytest.mark.parametrize(
    ("query", "answers", "wanted"),
    [
        ("q=why", "on", "deterministic"),
        ("q=why", "off", None),
        ("q=why&mode=rag", "on", "deterministic"),
        ("q=why&mode=keyword", "on", None),
    ],
)
def test_a_page_waits_for_no_model(monkeypatch, query, answers, wanted) -> None:
    settings = Settings(synthesis={"enabled": answers == "on"})

    (question,), _, _ = asked(monkeypatch, f"/search?{query}", settings)

    assert question.synthesize == wanted
