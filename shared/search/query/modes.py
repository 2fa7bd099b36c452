"""Search modes: what each is made of, and how long it may take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from shared.errors import ModuleNotEnabledError
from shared.plugins import Category

ALIASES = {"vector": "semantic"}
LATER = ("rag", "agentic", "agent")
# What questions call for that is not there yet, and for which questions.
Later: TypeAlias = Literal["rag", "agentic"]
_FOR: dict[Later, str] = {"rag": "a question", "agentic": "several parts"}
AUTO = "auto"
MIN_DEADLINE_MS = 100
# What is answered in sentences unless a request says otherwise.
ANSWERED = frozenset({AUTO, "hybrid"})


@dataclass(frozen=True, slots=True)
class Mode:
    """One way to search: module families, and the default deadline."""

    name: str
    families: tuple[str, ...]
    deadline_ms: int
    label: str
    description: str
    # Whether a model reasons in it, or nothing but search does.
    category: Category = "direct"
    # Whether one branch of its own name asks the modules, when it likes: a pipeline's.
    is_one: bool = False


MODES = {
    mode.name: mode
    for mode in (
        Mode(
            "keyword",
            ("keyword",),
            2000,
            "Words",
            "Exact words, phrases and names: very fast; what is said in other words"
            " is not found.",
        ),
        Mode(
            "semantic",
            ("semantic",),
            2000,
            "Meaning",
            "What means the same in other words: fast; finds much, and names only by"
            " chance.",
        ),
        Mode(
            "hybrid",
            ("keyword", "semantic"),
            3000,
            "Words and meaning",
            "Both at once, ranked as one list: for most questions; finds the most.",
        ),
    )
}


# What chooses among the others, as it is listed with them.
AUTOMATIC = replace(
    MODES["hybrid"],
    name=AUTO,
    families=(),
    label="Automatic",
    description="Words alone for names and phrases, else words and meaning.",
)


def make_single_mode(module: str) -> Mode:
    """Return the mode that asks one module of another package, and nothing else."""
    return Mode(module, (module,), 2000, module, f"What the module {module} finds.")


@dataclass(frozen=True, slots=True)
class Chosen:
    """The mode that is used, and why."""

    asked: str
    mode: Mode
    reasoning: str


def is_open(chosen: Chosen) -> bool:
    """Whether the question may still say which of several modes is used."""
    return chosen.asked == AUTO and chosen.mode.name == "hybrid"


def by_words(chosen: Chosen) -> Chosen:
    """Return how names and phrases are searched for, where nothing else is asked."""
    reason = "auto searches by words: names and phrases are all that is asked for"
    return Chosen(chosen.asked, MODES["keyword"], reason)


def short_of(chosen: Chosen, later: Later | None) -> Chosen:
    """Return how `auto` searches instead of by a mode that is not built in yet."""
    if chosen.asked != AUTO or later is None:
        return chosen
    would = f"for {_FOR[later]} {later} would be used, which is not built in yet"
    return Chosen(chosen.asked, chosen.mode, f"{chosen.reasoning}; {would}")


def choose(
    asked: str,
    enabled: frozenset[str],
    outside: frozenset[str] = frozenset(),
    pipelines: Sequence[Mode] = (),
) -> Chosen:
    """Return the mode to use; one that is off or not built in is refused.

    A search module of another package is a mode of its own name, too, and a pipeline.
    """
    name = ALIASES.get(asked, asked)
    available = [m.name for m in MODES.values() if enabled.issuperset(m.families)]
    if name in outside:
        return Chosen(asked, make_single_mode(name), f"{name} was asked for")
    others = {one.name: one for one in pipelines if _is_on(one, enabled | outside)}
    if name in others:
        return Chosen(asked, others[name], f"{name} was asked for")
    if name == AUTO:
        if not available:
            message = "Every search module is switched off."
            raise ModuleNotEnabledError(message, module_name=name)
        best = "hybrid" if "hybrid" in available else available[0]
        reason = (
            "auto searches both by words and by meaning"
            if best == "hybrid"
            else f"auto uses {best}: the other search module is switched off"
        )
        return Chosen(asked, MODES[best], reason)
    if name in available:
        return Chosen(asked, MODES[name], f"{name} was asked for")
    legal = [AUTO, *available, *sorted(outside), *sorted(others)]
    if name in MODES or name in LATER or name in {one.name for one in pipelines}:
        raise ModuleNotEnabledError(
            f"The mode {asked!r} is switched off or not built in.",
            module_name=name,
            available=legal,
        )
    raise ModuleNotEnabledError(
        f"There is no mode {asked!r}.",
        code="unknown_mode",
        module_name=name,
        available=legal,
    )


def _is_on(mode: Mode, enabled: frozenset[str]) -> bool:
    return enabled.issuperset(mode.families)
