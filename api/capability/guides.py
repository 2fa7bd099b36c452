"""What planners and classifiers are told of logbook search where nobody says it better.

The default builder adds the examples; a facility writes its own over it.
"""

from typing import ClassVar, Protocol, runtime_checkable

from api.capability.orchestration import (
    ClassifierExample,
    ClassifierGuide,
    OrchestratorExample,
    OrchestratorGuide,
    PlannedStep,
)
from shared.answers.question.question_class import NAME
from shared.errors import ConfigurationError
from shared.plugins import load_named

RESULTS = "LOGBOOK_SEARCH_RESULTS"
_WHEN = (
    "Plan `logbook_search` when the user asks about facility history, past incidents,"
    " how equipment behaved, or operational procedures."
)
_HOW = (
    "Name its result `ls_<topic>`, as in `ls_injector_failures` or `ls_rf_trips`.\n"
    "Where the question names a time, plan `time_range_parsing` before it and give its"
    " result as the input TIME_RANGE; without one the search is not bounded in time.\n"
    "`mode=auto` selects the strategy, by words, by meaning or both: never plan a step"
    " for that."
)
_ROUTE = (
    "Answer true where the question is about what was written down: past events, the"
    " history of equipment, incidents, what a shift reported, how something is usually"
    " done, or entries by word or by time. Answer false for values of this moment,"
    " control actions and general knowledge."
)
_EXAMPLES = (
    OrchestratorExample(
        PlannedStep(
            NAME,
            "ls_injector_failures",
            "Search logbook for historical injector failure incidents",
            RESULTS,
            "Entries that tell of injector failures",
            ({"TIME_RANGE": "tr_injector_failures"},),
        ),
        "By meaning: incidents that entries tell in other words than the question.",
        "TIME_RANGE is optional: only where the question names a time.",
    ),
    OrchestratorExample(
        PlannedStep(
            NAME,
            "ls_bts_chicane",
            "Find logbook entries containing 'BTS chicane alignment'",
            RESULTS,
            "Entries with these very words",
        ),
        "By words: a phrase or a name as it is written. It depends on nothing.",
    ),
    OrchestratorExample(
        PlannedStep(
            NAME,
            "ls_rf_trips",
            "Answer: How do we typically handle RF trips?",
            RESULTS,
            "An answer each sentence of which cites its entry",
        ),
        "An answer: practice that several entries document, with citations.",
    ),
)
_CLASSIFIED = tuple(
    ClassifierExample(*row)
    for row in (
        (
            "What happened last time the injector failed?",
            True,
            "Asks for an incident of the past",
        ),
        (
            "Find entries about BTS chicane alignment",
            True,
            "Asks for logbook entries in so many words",
        ),
        (
            "What is the current beam energy?",
            False,
            "A value of this moment, not of the past",
        ),
        (
            "How do we typically handle RF trips?",
            True,
            "Operational practice that logbooks document",
        ),
        ("Set the quadrupole current to 5A", False, "A control action, not a search"),
        (
            "Show me beam loss events from January",
            True,
            "Entries of the past within a time",
        ),
        (
            "What did the night shift report about the vacuum issue?",
            True,
            "A shift's report, which stands in the logbook",
        ),
        (
            "How does the accelerator work?",
            False,
            "General physics, not this facility's history",
        ),
    )
)


@runtime_checkable
class PromptBuilder(Protocol):
    """Writes the guides on when to use a capability, and how."""

    PROMPT_TYPE: ClassVar[str]

    def get_role_definition(self) -> str:
        """Return the role of a model that searches."""

    def get_instructions(self) -> str:
        """Return the steps by which the model searches."""

    def get_orchestrator_guide(self) -> OrchestratorGuide:
        """Return when and how a planner includes the search."""

    def get_classifier_guide(self) -> ClassifierGuide:
        """Return which queries activate the search."""


class DefaultLogbookSearchPromptBuilder:
    """The guides as shipped; a facility overrides those that it can word better."""

    PROMPT_TYPE: ClassVar[str] = NAME

    def get_role_definition(self) -> str:
        """Return the role of a model that searches."""
        return (
            "You know this facility's logbooks and find in them the entries of the past"
            " that a question is about: an expert in facility logbook search."
        )

    def get_instructions(self) -> str:
        """Return how the model reads the intent, chooses a strategy, and cites."""
        return (
            "1. Intent: tell whether an incident, a piece of equipment, a practice or"
            " certain entries are asked for, and which names and times are named.\n"
            "2. Strategy: names and phrases by words, descriptions by meaning,"
            " questions by both and an answer; in doubt leave it to `mode=auto`.\n"
            "3. Citation: cite the entry of every statement by its id, say nothing that"
            " no entry says, and say so where nothing was found."
        )

    def get_orchestrator_guide(self) -> OrchestratorGuide:
        """Return when and how a planner includes the search, with three examples."""
        return OrchestratorGuide(f"{_WHEN}\n{_HOW}", _EXAMPLES)

    def get_classifier_guide(self) -> ClassifierGuide:
        """Return which queries activate the search, with eight examples."""
        return ClassifierGuide(_ROUTE, _CLASSIFIED)


def default_orchestrator_guide() -> OrchestratorGuide:
    """Return the guide without examples, for a planner without a prompt system."""
    return OrchestratorGuide(f"{_WHEN}\n{_HOW}")


def default_classifier_guide() -> ClassifierGuide:
    """Return the guide without examples, for a planner without a prompt system."""
    return ClassifierGuide(_ROUTE)


def load_prompt_builder(named: str | None) -> PromptBuilder:
    """Return the builder that the settings name as `module:Class`, or the default."""
    if named is None:
        return DefaultLogbookSearchPromptBuilder()
    made = load_named(named, "capability.prompt_builder")()
    if not isinstance(made, PromptBuilder) or made.PROMPT_TYPE != NAME:
        message = f"{named} builds no prompts of type {NAME!r}."
        raise ConfigurationError(message, config_key="capability.prompt_builder")
    return made
