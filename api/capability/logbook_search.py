"""The capability `logbook_search`: from a planned step to entries and an answer."""

import os
from datetime import date
from functools import partial
from typing import Any, ClassVar

from api.capability import guides
from api.capability.guides import PromptBuilder
from api.capability.orchestration import (
    Capability,
    ClassifierGuide,
    OrchestratorGuide,
    TimeRangeContext,
)
from api.capability.search_results import LogbookSearchResultsContext
from api.service import EMBEDDED, get_search_service
from shared.answers.question.question_class import NAME
from shared.errors import InvalidRequestError, ModuleNotEnabledError
from shared.log import get_logger
from shared.search.response.search_answer import SearchAnswer
from shared.settings.settings import Settings

log = get_logger()

_ENDS = ("start_date", "end_date")
TimeRange = tuple[str | None, str | None]


class LogbookSearchCapability(Capability):
    """Searches the logbooks for what a step of a plan is to achieve."""

    name: ClassVar[str] = NAME
    description: ClassVar[str] = (
        "Searches and queries historical logbook entries. For past events, the history"
        " of equipment, operational incidents, and entries by keyword or by period."
    )
    provides: ClassVar[list[str]] = [LogbookSearchResultsContext.CONTEXT_TYPE]
    requires: ClassVar[list[str]] = []
    reads: ClassVar[list[str]] = [TimeRangeContext.CONTEXT_TYPE]

    async def execute(self) -> dict[str, Any]:
        """Search within the time range that there is, if any, and store the result."""
        contexts = self.get_required_contexts(constraint_mode="soft")
        time_range = None
        if (given := contexts.get(TimeRangeContext.CONTEXT_TYPE)) is not None:
            time_range = _read_range(given)
        if not (self.get_task_objective() or "").strip():
            message = "The step has no objective, and so nothing to search for."
            raise InvalidRequestError.field("task_objective", "missing", message)
        found = await self._search(time_range)
        return self.store_output_context(LogbookSearchResultsContext.of(found))

    async def _search(self, time_range: TimeRange | None) -> SearchAnswer:
        service = await get_search_service()
        search = partial(
            service.search,
            query=self.get_task_objective(),
            time_range=time_range,
            scope=self.state.scope or EMBEDDED,
        )
        async with service:
            try:
                return await search(mode="rag")
            except ModuleNotEnabledError as exc:
                if exc.module_name != "rag":
                    raise
                # Without a model an answer is made of sentences of entries.
                log.info("answered_without_model", capability=NAME)
                return await search()

    @classmethod
    def get_orchestrator_guide(cls) -> OrchestratorGuide:
        """Return when and how a planner includes it."""
        builder = cls._prompt_builder()
        if builder is None:
            return cls._default_orchestrator_guide()
        return builder.get_orchestrator_guide()

    @classmethod
    def get_classifier_guide(cls) -> ClassifierGuide:
        """Return which queries activate it."""
        builder = cls._prompt_builder()
        if builder is None:
            return cls._default_classifier_guide()
        return builder.get_classifier_guide()

    @staticmethod
    def _prompt_builder() -> PromptBuilder | None:
        """Return the builder of its prompts; None: the settings switch prompts off."""
        capability = Settings.load(os.environ).capability
        if not capability.prompts:
            return None
        return guides.load_prompt_builder(capability.prompt_builder)

    @staticmethod
    def _default_orchestrator_guide() -> OrchestratorGuide:
        return guides.default_orchestrator_guide()

    @staticmethod
    def _default_classifier_guide() -> ClassifierGuide:
        return guides.default_classifier_guide()


def _read_range(given: object) -> TimeRange:
    """Return both ends of a time range of ours, or of an orchestrator's own class."""
    ends = [getattr(given, name, None) for name in _ENDS]
    since, until = (one.isoformat() if isinstance(one, date) else one for one in ends)
    is_read = all(one is None or isinstance(one, str) for one in (since, until))
    if not is_read or (since is None and until is None):
        kind = type(given).__name__
        message = f"A context of type {kind} has no {' or '.join(_ENDS)} to be read."
        raise InvalidRequestError.field("inputs", "missing", message)
    return since, until
