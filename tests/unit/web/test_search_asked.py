"""What the search page asks for, and what it makes of a search that goes on."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from api.web.routes import search_page
from shared.access.scope import Scope
from shared.ids import uuid7
from shared.search.jobs.job import Job
from shared.settings.settings import Settings
from tests.support.web_app import browse

ANNA = Scope("main", "anna", allowed=frozenset({"read", "search"}))


class Searches:
    """Answers every search as `Searches.ask` does one that outlasts its asker."""

    def __init__(self, job: Job) -> None:
        self._job = job

    async def ask(self, *_: object) -> Job:
        return self._job


class Telemetry:
    """Is on, and has been told which job is expected, for which visit."""

    is_on = True
    expected: ClassVar[list[Any]] = []

    def expect_job(self, *told: object) -> None:
        self.expected[:] = told


def asked(
    monkeypatch: pytest.MonkeyPatch, path: str, settings: Settings | None = None
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
        searches=Searches(job),
        telemetry=Telemetry(),
    )
    return questions, job, answer


@pytest.mark.parametrize("twin", ["", ".json"])
def test_a_search_that_outlasts_its_asker_is_followed_on_its_own_page(
    monkeypatch: pytest.MonkeyPatch, twin: str
) -> None:
    _, job, answer = asked(monkeypatch, f"/search{twin}?q=valve&via=meant")

    assert answer.status_code == 303
    assert answer.headers["location"] == f"/jobs/{job.job_id}{twin}"
    visit = answer.cookies.get("visit")
    assert (visit is None) == bool(twin)
    assert Telemetry.expected == [job.job_id, "main", "valve", visit, "meant"]


@pytest.mark.parametrize(
    ("query", "answers", "wanted"),
    [
        ("q=why", "on", "deterministic"),
        ("q=why", "off", None),
        ("q=why&mode=rag", "on", "deterministic"),
        ("q=why&mode=keyword", "on", None),
    ],
)
def test_a_page_waits_for_no_model(
    monkeypatch: pytest.MonkeyPatch, query: str, answers: str, wanted: str | None
) -> None:
    settings = Settings(synthesis={"enabled": answers == "on"})

    (question,), _, _ = asked(monkeypatch, f"/search?{query}", settings)

    assert question.synthesize == wanted
