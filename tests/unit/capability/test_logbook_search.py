"""The capability as orchestrators know it: names, guides, contexts, what is told."""

import asyncio
import dataclasses
import subprocess
import sys
from datetime import UTC, date, datetime
from typing import Any, ClassVar, Self

import pytest
from structlog.testing import capture_logs

from api import capability
from api.capability import logbook_search
from api.capability.guides import (
    DefaultLogbookSearchPromptBuilder,
    default_orchestrator_guide,
)
from api.capability.installed_capabilities import find_capabilities
from api.capability.logbook_search import LogbookSearchCapability
from api.capability.orchestration import (
    CapabilityContext,
    ClassifierGuide,
    OrchestratorGuide,
    OrchestratorState,
    PlannedStep,
    TimeRangeContext,
)
from api.capability.search_results import LogbookSearchResultsContext
from shared import errors
from shared.access.scope import Scope
from shared.answers.question.question_class import classify_question

BUILDER = DefaultLogbookSearchPromptBuilder()


class OwnPromptBuilder(DefaultLogbookSearchPromptBuilder):
    """A facility that knows better what its classifier should hear."""

    def get_classifier_guide(self) -> ClassifierGuide:
        return ClassifierGuide("Ask the ring's logbook.")


class NoPromptBuilder:
    """A class that builds no prompts."""


def found(**given: Any) -> LogbookSearchResultsContext:
    values: dict[str, Any] = {
        "entries": (),
        "answer": None,
        "sources": (),
        "search_modes_used": ("keyword", "semantic", "hybrid"),
        "query": "rf trips",
        "time_range_applied": False,
    }
    return LogbookSearchResultsContext(**{**values, **given})


def entry(text: str) -> dict[str, Any]:
    return {
        "entry_id": "1",
        "entry_time": "2026-03-02T04:10:00Z",
        "title": "t",
        "content": text,
    }


@pytest.mark.requirement("S2-01", "S2-04", "S2-05", "S2-06", "S2-08")
def test_it_is_installed_under_its_name_with_what_it_gives_and_needs():
    assert find_capabilities()["logbook_search"] is LogbookSearchCapability
    assert LogbookSearchCapability.name == "logbook_search"
    assert LogbookSearchCapability.provides == ["LOGBOOK_SEARCH_RESULTS"]
    assert LogbookSearchCapability.requires == []


@pytest.mark.requirement("S2-07")
@pytest.mark.parametrize(
    "named",
    ["historical logbook entries", "past events", "equipment", "incidents", "keyword"],
)
def test_its_description_names_what_it_is_for(named: str):
    description = LogbookSearchCapability.description
    assert named in description
    assert "period" in description


def test_a_program_finds_it_under_the_name_that_the_contract_has():
    assert capability.LogbookSearchCapability is LogbookSearchCapability
    assert capability.LogbookSearchResultsContext is LogbookSearchResultsContext
    builder = capability.DefaultLogbookSearchPromptBuilder
    assert builder is DefaultLogbookSearchPromptBuilder


def test_it_is_imported_without_a_web_server():
    code = (
        "import sys, api.capability, api.service;"
        "sys.exit(bool({'fastapi', 'starlette', 'uvicorn'} & sys.modules.keys()))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.requirement("S2-14", "S2-15", "S2-16", "S2-17", "S2-19", "S2-21", "S2-22")
def test_its_context_is_frozen_and_typed():
    context = found()
    assert isinstance(context, CapabilityContext)
    assert context.CONTEXT_TYPE == "LOGBOOK_SEARCH_RESULTS"
    assert context.CONTEXT_CATEGORY == "DATA"
    assert [one.name for one in dataclasses.fields(context)] == [
        *("entries", "answer", "sources", "search_modes_used", "query"),
        "time_range_applied",
        # Ours beside them.
        *("degraded", "as_of", "diagnostics"),
    ]
    with pytest.raises(dataclasses.FrozenInstanceError):
        context.query = "other"


@pytest.mark.requirement("S2-23")
@pytest.mark.parametrize("length", [199, 200, 201])
def test_a_summary_has_previews_of_at_most_200_characters(length: int):
    context = found(
        entries=(entry("x" * length),), answer="It tripped [#1].", sources=("1",)
    )
    summary = context.get_summary()
    (preview,) = summary["previews"]
    assert len(preview["text"]) == min(length, 200)
    assert preview["text"].endswith("…") is (length > 200)
    assert summary["entry_count"] == 1
    assert summary["search_modes_used"] == ["keyword", "semantic", "hybrid"]
    assert summary["time_range_applied"] is False
    assert (summary["answer"], summary["sources"]) == ("It tripped [#1].", ["1"])


@pytest.mark.requirement("S2-24")
def test_access_details_name_the_path_of_the_stored_key():
    told = found().get_access_details("ls_rf_trips")
    assert "context.LOGBOOK_SEARCH_RESULTS.ls_rf_trips" in told["access_pattern"]


@pytest.mark.requirement("S2-25", "S2-26", "S2-27", "S2-28", "S2-44")
@pytest.mark.parametrize(
    "said",
    [
        *("facility history", "past incidents", "equipment", "operational procedures"),
        *("ls_<topic>", "`ls_injector_failures`", "`ls_rf_trips`"),
        *("`time_range_parsing` before", "`mode=auto` selects the strategy"),
    ],
)
def test_the_orchestrator_is_told_when_and_how(said: str):
    guide = LogbookSearchCapability.get_orchestrator_guide()
    assert isinstance(guide, OrchestratorGuide)
    assert said in guide.instructions


@pytest.mark.requirement("S2-29", "S2-30", "S2-31")
def test_the_guide_has_an_example_for_each_strategy():
    meaning, words, answer = BUILDER.get_orchestrator_guide().examples
    assert "historical injector failure incidents" in meaning.step.task_objective
    assert meaning.step.inputs == ({"TIME_RANGE": "tr_injector_failures"},)
    assert "optional" in meaning.notes
    assert "'BTS chicane alignment'" in words.step.task_objective
    assert words.step.inputs == ()
    assert "How do we typically handle RF trips?" in answer.step.task_objective


@pytest.mark.requirement("S2-44")
def test_the_examples_of_the_guide_are_classified_as_it_says():
    guide = LogbookSearchCapability.get_classifier_guide()
    assert isinstance(guide, ClassifierGuide)
    assert len(guide.examples) == 8
    for one in guide.examples:
        assert classify_question(one.query).matches is one.result
        assert one.reason


@pytest.mark.requirement("S2-41", "S2-42", "S2-43")
def test_the_default_prompts_name_role_and_way():
    assert BUILDER.PROMPT_TYPE == "logbook_search"
    role = BUILDER.get_role_definition()
    assert "expert in facility logbook search" in role
    assert "entries of the past" in role
    instructions = BUILDER.get_instructions()
    assert all(one in instructions for one in ("Intent", "Strategy", "Citation"))


@pytest.mark.requirement("S2-40")
def test_a_facility_builds_prompts_of_its_own(monkeypatch: pytest.MonkeyPatch):
    named = f"{__name__}:OwnPromptBuilder"
    monkeypatch.setitem(sys.modules, __name__, sys.modules[OwnPromptBuilder.__module__])
    monkeypatch.setenv("LOGCHORD_CAPABILITY__PROMPT_BUILDER", named)
    guide = LogbookSearchCapability.get_classifier_guide()
    assert guide.instructions == "Ask the ring's logbook."
    kept = LogbookSearchCapability.get_orchestrator_guide()
    assert kept == BUILDER.get_orchestrator_guide()


@pytest.mark.parametrize(
    "named", ["nowhere:At", f"{__name__}:NoPromptBuilder", "json:nothing"]
)
def test_what_builds_no_prompts_is_refused(named: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, __name__, sys.modules[OwnPromptBuilder.__module__])
    monkeypatch.setenv("LOGCHORD_CAPABILITY__PROMPT_BUILDER", named)
    with pytest.raises(errors.ConfigurationError) as caught:
        LogbookSearchCapability.get_classifier_guide()
    assert caught.value.config_key == "capability.prompt_builder"


@pytest.mark.requirement("S2-45")
def test_without_prompts_the_guidance_is_the_same_without_examples(monkeypatch):
    monkeypatch.setenv("LOGCHORD_CAPABILITY__PROMPTS", "false")
    guide = LogbookSearchCapability.get_orchestrator_guide()
    assert guide == default_orchestrator_guide()
    assert guide.instructions == BUILDER.get_orchestrator_guide().instructions
    assert guide.examples == ()
    assert LogbookSearchCapability.get_classifier_guide().examples == ()


@pytest.mark.requirement("S2-50", "S2-51")
def test_errors_come_with_a_severity_and_our_own_commands():
    severity, message = LogbookSearchCapability.classify_error(
        errors.DatabaseConnectionError()
    )
    assert severity is errors.Severity.CRITICAL
    for command in ("logchord up", "logchord migrate", "logchord ingest"):
        assert f"`{command}`" in message


@pytest.mark.requirement("S2-50", "S2-56")
def test_whoever_gives_up_or_meets_what_nobody_foresaw_is_told_of_it_alone():
    severity, message = LogbookSearchCapability.classify_error(TimeoutError())
    assert (severity, "given up" in message) == (errors.Severity.CRITICAL, True)
    with capture_logs() as logged:
        severity, message = LogbookSearchCapability.classify_error(ValueError("secret"))
    assert severity is errors.Severity.CRITICAL
    assert "secret" not in message
    error_id = message.removesuffix(".").rpartition(" ")[2]
    assert [one["error_id"] for one in logged] == [error_id]


class Recorded:
    """A search service that notes what is asked of it; a model is there or not."""

    def __init__(self, *, has_model: bool) -> None:
        self.has_model = has_model
        self.asked: list[dict[str, Any]] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    async def search(self, **asked: Any) -> object:
        self.asked.append(asked)
        if asked.get("mode") == "rag" and not self.has_model:
            message = "No model is configured."
            raise errors.ModuleNotEnabledError(message, module_name="rag")
        return object()


@pytest.mark.requirement("S2-10", "C22")
@pytest.mark.parametrize("has_model", [True, False])
def test_a_step_asks_for_an_answer_by_a_model_and_never_for_an_agent(
    monkeypatch: pytest.MonkeyPatch, *, has_model: bool
):
    service = Recorded(has_model=has_model)
    monkeypatch.setattr(LogbookSearchResultsContext, "of", lambda _: found())

    async def get_service() -> Recorded:
        return service

    monkeypatch.setattr(logbook_search, "get_search_service", get_service)
    state = OrchestratorState(scope=Scope("default", "anna"))
    state.store("tr_january", TimeRangeContext("2026-01-01", "2026-01-31"))
    step = PlannedStep("logbook_search", "ls_rf_trips", "Why did RF trip?")
    asyncio.run(LogbookSearchCapability(state, step).execute())

    asked = {
        "query": "Why did RF trip?",
        "time_range": ("2026-01-01", "2026-01-31"),
        "scope": Scope("default", "anna"),
    }
    assert service.asked[0] == {**asked, "mode": "rag"}
    assert service.asked[1:] == ([] if has_model else [asked])
    for objective in ("", " \n"):
        nothing = PlannedStep("logbook_search", "ls_x", objective)
        with pytest.raises(errors.InvalidRequestError, match="no objective"):
            asyncio.run(LogbookSearchCapability(state, nothing).execute())


@pytest.mark.requirement("S2-09")
def test_a_time_range_is_used_where_there_is_one_and_missed_by_nobody():
    state = OrchestratorState()
    step = PlannedStep("logbook_search", "ls_rf_trips", "rf trips")
    capability = LogbookSearchCapability(state, step)
    assert capability.get_required_contexts(constraint_mode="soft") == {}
    january = TimeRangeContext("2026-01-01", "2026-01-31")
    state.store("tr_january", january)
    contexts = capability.get_required_contexts(constraint_mode="soft")
    assert contexts == {"TIME_RANGE": january}


def test_a_context_that_a_capability_requires_is_asked_for():
    class Needy(LogbookSearchCapability):
        requires: ClassVar[list[str]] = ["TIME_RANGE"]

    capability = Needy(OrchestratorState(), PlannedStep("needy", "n", "x"))
    with pytest.raises(errors.InvalidRequestError, match="TIME_RANGE"):
        capability.get_required_contexts()


class OwnRange(CapabilityContext):
    """A time range as an orchestrator of its own makes it: a class that is not ours."""

    CONTEXT_TYPE: ClassVar[str] = "TIME_RANGE"
    CONTEXT_CATEGORY: ClassVar[str] = "METADATA"

    def __init__(self, **ends: Any) -> None:
        self.__dict__.update(ends)

    def get_summary(self) -> dict[str, Any]:
        return {}

    def get_access_details(self, key: str) -> dict[str, Any]:
        return {"key": key}


def searched_within(context: CapabilityContext, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the time range that a step searches within, which is read no further."""
    seen = []

    class ReadError(Exception):
        """The range has been read."""

    async def note(_: object, time_range: object) -> None:
        seen.append(time_range)
        raise ReadError

    monkeypatch.setattr(LogbookSearchCapability, "_search", note)
    state = OrchestratorState()
    state.store("tr", context)
    step = PlannedStep("logbook_search", "ls_rf_trips", "rf trips")
    with pytest.raises(ReadError):
        asyncio.run(LogbookSearchCapability(state, step).execute())
    return seen[0]


@pytest.mark.parametrize(
    ("context", "searched"),
    [
        (TimeRangeContext("2026-01-01", "2026-01-31"), ("2026-01-01", "2026-01-31")),
        (OwnRange(start_date="2026-01-01", end_date=None), ("2026-01-01", None)),
        (OwnRange(end_date="2026-01-31"), (None, "2026-01-31")),
        (
            OwnRange(
                start_date=datetime(2026, 1, 1, tzinfo=UTC), end_date=date(2026, 1, 31)
            ),
            ("2026-01-01T00:00:00+00:00", "2026-01-31"),
        ),
    ],
)
def test_a_time_range_of_any_class_bounds_the_search(context, searched, monkeypatch):
    assert searched_within(context, monkeypatch) == searched


@pytest.mark.parametrize("context", [OwnRange(), OwnRange(start_date=7, end_date=8)])
def test_a_time_range_without_ends_is_refused(context, monkeypatch):
    with pytest.raises(errors.InvalidRequestError, match="OwnRange"):
        searched_within(context, monkeypatch)
