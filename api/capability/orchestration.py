"""What an outer orchestrator and its capabilities tell each other; ours for any."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from shared.access.scope import Scope
from shared.errors import (
    ErrorClassification,
    InternalError,
    InvalidRequestError,
    LogchordError,
    SearchTimeoutError,
    classify_error,
)
from shared.log import get_logger

log = get_logger()

ConstraintMode = Literal["soft", "hard"]


@dataclass(frozen=True)
class CapabilityContext(ABC):
    """The result of one capability, stored for the next one."""

    CONTEXT_TYPE: ClassVar[str]
    CONTEXT_CATEGORY: ClassVar[str]

    @abstractmethod
    def get_summary(self) -> dict[str, Any]:
        """Return the parts of the result that a reply can be written from."""

    @abstractmethod
    def get_access_details(self, key: str) -> dict[str, Any]:
        """Return how code reads the result that is stored under a key."""


@dataclass(frozen=True)
class TimeRangeContext(CapabilityContext):
    """A time range that an earlier step of the plan has resolved; ISO 8601 texts."""

    CONTEXT_TYPE: ClassVar[str] = "TIME_RANGE"
    CONTEXT_CATEGORY: ClassVar[str] = "METADATA"

    start_date: str
    end_date: str

    def get_summary(self) -> dict[str, Any]:
        """Return both ends of the time range."""
        return {"start_date": self.start_date, "end_date": self.end_date}

    def get_access_details(self, key: str) -> dict[str, Any]:
        """Return how code reads both ends."""
        path = f"context.{self.CONTEXT_TYPE}.{key}"
        return {"access_pattern": f"{path}.start_date, {path}.end_date"}


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """One step of an execution plan."""

    capability: str
    context_key: str
    task_objective: str
    expected_output: str | None = None
    success_criteria: str = ""
    # Contexts that it reads: their types, and the keys that they are stored under.
    inputs: tuple[Mapping[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class OrchestratorExample:
    """A step as it is planned well, and when."""

    step: PlannedStep
    scenario_description: str
    notes: str = ""


@dataclass(frozen=True, slots=True)
class OrchestratorGuide:
    """When and how a planner includes a capability."""

    instructions: str
    examples: tuple[OrchestratorExample, ...] = ()
    priority: int = 50


@dataclass(frozen=True, slots=True)
class ClassifierExample:
    """A query, whether it activates the capability, and why."""

    query: str
    result: bool
    reason: str


@dataclass(frozen=True, slots=True)
class ClassifierGuide:
    """Which queries activate a capability."""

    instructions: str
    examples: tuple[ClassifierExample, ...] = ()


@dataclass
class OrchestratorState:
    """The contexts of one conversation, by type and key."""

    contexts: dict[str, dict[str, CapabilityContext]] = field(default_factory=dict)
    # Whose rights its steps have; None: those of whoever embeds the service.
    scope: Scope | None = None

    def store(self, key: str, context: CapabilityContext) -> dict[str, Any]:
        """Keep a result for the steps that follow."""
        self.contexts.setdefault(context.CONTEXT_TYPE, {})[key] = context
        return {context.CONTEXT_TYPE: {key: context}}


class Capability(ABC):
    """One thing that an orchestrator can have done, with the state that it works on."""

    name: ClassVar[str]
    description: ClassVar[str]
    provides: ClassVar[list[str]]
    requires: ClassVar[list[str]]
    # Contexts that are used where an earlier step has made them.
    reads: ClassVar[list[str]] = []

    def __init__(self, state: OrchestratorState, step: PlannedStep) -> None:
        self.state = state
        self.step = step

    @abstractmethod
    async def execute(self) -> dict[str, Any]:
        """Carry the step out, and return the result that was stored."""

    @staticmethod
    def classify_error(exc: BaseException) -> ErrorClassification:
        """Return how bad a failure is, and what to tell the user."""
        if isinstance(exc, TimeoutError):
            message = "The search was given up before its answer came."
            return classify_error(SearchTimeoutError(message))
        if isinstance(exc, LogchordError):
            return classify_error(exc)
        error = InternalError(technical=f"{type(exc).__name__}: {exc}")
        told = {"error_id": str(error.id), "technical": error.technical}
        log.error("unexpected_error", **told)
        return ErrorClassification(error.severity, f"{error.message} It is {error.id}.")

    def get_task_objective(self) -> str:
        """Return the objective of the step, in words."""
        return self.step.task_objective

    def get_required_contexts(
        self, constraint_mode: ConstraintMode = "hard"
    ) -> dict[str, CapabilityContext]:
        """Return the newest context of each type; `soft`: as far as there are any."""
        wanted = self.requires if constraint_mode == "hard" else self.reads
        named = {kind: key for one in self.step.inputs for kind, key in one.items()}
        found = {}
        for kind in wanted:
            stored = self.state.contexts.get(kind, {})
            key = named.get(kind, next(reversed(stored), ""))
            if key in stored:
                found[kind] = stored[key]
            elif constraint_mode == "hard":
                message = f"The step needs a context of type {kind}."
                raise InvalidRequestError.field("inputs", "missing", message)
        return found

    def store_output_context(self, context: CapabilityContext) -> dict[str, Any]:
        """Store the result under the step's key."""
        return self.state.store(self.step.context_key, context)
