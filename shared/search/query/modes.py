"""Search modes: what each is made of, and how long it may take."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from shared.errors import ModuleNotEnabledError
from shared.plugins import Category

ALIASES = {"vector": "semantic"}
RAG = "rag"
# A search whose answer a model words, unless the settings give it another time.
RAG_DEADLINE_MS = 15_000
LATER = (RAG,)
AUTO, AGENTIC, AGENT = "auto", "agentic", "agent"
# The longest that any search may take.
MOST_DEADLINE_MS = 120_000
MIN_DEADLINE_MS = 100
# The modes that answer in sentences unless a request says otherwise.
ANSWERED = frozenset({AUTO, "hybrid", AGENTIC, AGENT})
# Modules that each sub-query asks beside words and meaning, where switched on.
EVIDENCE = ("procedure", "tag", "graph", "attachment_name")


@dataclass(frozen=True, slots=True)
class Mode:
    """One way to search: module families, and the default deadline."""

    name: str
    families: tuple[str, ...]
    deadline_ms: int
    label: str
    description: str
    # Whether a model reasons in it.
    category: Category = "direct"
    # Whether it is one branch, in which a pipeline asks the modules as it likes.
    is_one: bool = False
    # Families of which one is enough: the mode then goes without those that are off.
    core: frozenset[str] = frozenset()

    @property
    def most_ms(self) -> int:
        """Return the longest deadline that a request may ask for."""
        return min(2 * self.deadline_ms, MOST_DEADLINE_MS)

    def is_on(self, enabled: frozenset[str]) -> bool:
        """Tell whether enough of its search modules are switched on."""
        if self.core:
            return not self.core.isdisjoint(enabled)
        return enabled.issuperset(self.families)

    def narrowed(self, enabled: frozenset[str]) -> Self:
        """Return the mode with those of its families that are switched on."""
        if not self.core:
            return self
        left = tuple(one for one in self.families if one in enabled)
        return replace(self, families=left)


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
        Mode(
            AGENTIC,
            ("keyword", "semantic", *EVIDENCE),
            30_000,
            "Several questions",
            "A question of several parts taken apart by rules, all of them searched at"
            " once and compared with the whole: no model reasons.",
            core=frozenset({"keyword", "semantic"}),
        ),
    )
}


def make_agent_mode(families: tuple[str, ...], deadline_ms: int) -> Mode:
    """Return the mode in which a model searches these families, turn by turn."""
    return Mode(
        AGENT,
        families,
        deadline_ms,
        "Agent",
        "A model searches turn by turn until it can answer: slow, for what takes"
        " several looks; no two runs need be alike.",
        category="llm",
    )


def make_rag_mode(
    families: tuple[str, ...], deadline_ms: int = RAG_DEADLINE_MS, *, has_model: bool
) -> Mode:
    """Return the mode that answers from the hits of these families.

    A model words the answer where there is one; else it is put together by rules.
    """
    return Mode(
        RAG,
        families,
        deadline_ms,
        "Answer",
        "Words and meaning, and an answer from what they find: a question, not a"
        " search.",
        category="llm" if has_model else "direct",
    )


# The mode that chooses among the others; it is listed with them.
AUTOMATIC = replace(
    MODES["hybrid"],
    name=AUTO,
    families=(),
    label="Automatic",
    description="Words alone for names and phrases, several parts each by itself, else"
    " words and meaning.",
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
    """Tell whether the words of the question may still decide on the mode."""
    return chosen.asked == AUTO and chosen.mode.name == "hybrid"


def by_words(chosen: Chosen) -> Chosen:
    """Return mode `keyword` for a question of names and phrases alone."""
    reason = "auto searches by words: names and phrases are all that is asked for"
    return Chosen(chosen.asked, MODES["keyword"], reason)


def by_parts(chosen: Chosen, enabled: frozenset[str]) -> Chosen:
    """Return mode `agentic` for a question of several parts.

    Where its modules are switched off, the choice stays as it is.
    """
    mode = MODES[AGENTIC]
    if not mode.is_on(enabled):
        return chosen
    reason = "auto searches each part by itself: several things are asked for"
    return Chosen(chosen.asked, mode.narrowed(enabled), reason)


def by_rag(chosen: Chosen, rag: Mode) -> Chosen:
    """Return mode `rag` for a question, where a model is configured."""
    reason = "auto answers a question by rag: a model is configured"
    return Chosen(chosen.asked, rag, reason)


def with_time_for_a_model(chosen: Chosen, model_ms: int) -> Chosen:
    """Return the mode with at least the time that an answer by a model is given."""
    deadline_ms = max(chosen.mode.deadline_ms, model_ms)
    return replace(chosen, mode=replace(chosen.mode, deadline_ms=deadline_ms))


def without_model(chosen: Chosen) -> Chosen:
    """Return the choice of `auto`, telling that a model would have it answer by rag."""
    if chosen.asked != AUTO:
        return chosen
    would = "a question is answered by rag where a model is configured"
    return Chosen(chosen.asked, chosen.mode, f"{chosen.reasoning}; {would}")


def list_branches(pipelines: Sequence[Mode], enabled: frozenset[str]) -> frozenset[str]:
    """Return the pipelines of other packages that may be one branch of a search."""
    composed = (one for one in pipelines if one.name not in {RAG, AGENT})
    return frozenset(one.name for one in composed if one.is_on(enabled))


def choose(
    asked: str,
    enabled: frozenset[str],
    outside: frozenset[str] = frozenset(),
    pipelines: Sequence[Mode] = (),
) -> Chosen:
    """Return the mode to use; refuse a mode that is off or not built in.

    Each search module of another package and each pipeline is a mode of its own name.
    """
    name = ALIASES.get(asked, asked)
    available = [m.name for m in MODES.values() if m.is_on(enabled)]
    if name in outside:
        return Chosen(asked, make_single_mode(name), f"{name} was asked for")
    on = enabled | outside
    on |= list_branches(pipelines, on)
    others = {one.name: one for one in pipelines if one.is_on(on)}
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
        return Chosen(asked, MODES[name].narrowed(enabled), f"{name} was asked for")
    legal = [AUTO, *available, *sorted(outside), *sorted(others)]
    if name == AGENT:
        raise ModuleNotEnabledError(
            "No model is configured for agents (`reasoning.provider`), or they are off"
            " (`pipelines.agent.enabled`).",
            module_name=name,
            available=legal,
        )
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
