"""What a pipeline is: search modules, put together under a name of its own."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from shared.plugins import Category, check_category
from shared.search.retrieval.search_parameters import ParameterDescriptor

DEADLINE_MS = 3000


@dataclass(frozen=True, slots=True)
class PipelineDescriptor:
    """Describes a pipeline to the rest of the system."""

    name: str
    label: str
    description: str
    # Whether a model reasons in it.
    category: Category
    parameters: tuple[ParameterDescriptor, ...] = ()
    # Takes (ask, context, modules) and returns a `ModuleResult` that names entries; it
    # may be a coroutine function. None: its modules are asked at once and ranked as
    # one list.
    execute: Callable[..., Any] | None = None
    # How long a search by it may take where the request does not say.
    deadline_ms: int = DEADLINE_MS

    def __post_init__(self) -> None:
        """Refuse a category that is none."""
        check_category(self.name, self.category)
