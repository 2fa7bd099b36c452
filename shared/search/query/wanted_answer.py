"""Which answer in sentences a search is to have, and who words it."""

from dataclasses import dataclass, replace
from typing import Literal

from shared.access.scope import Scope
from shared.errors import ModuleNotEnabledError
from shared.search.query import modes
from shared.search.query.language import tree_text
from shared.search.query.language.tree import Node
from shared.search.query.modes import Chosen, Mode
from shared.search.query.result_detail import Synthesis, Writer

# The writer that a request names, or False for no answer; None: its mode decides.
Wanted = Writer | Literal[False] | None


@dataclass(frozen=True, slots=True)
class AnswerLimits:
    """Which answers in sentences this installation gives, and to which tenants."""

    enabled: bool = True
    # Answers from what is retrieved; None: the pipeline is off.
    rag: Mode | None = None
    # Whether a model words answers over the results of other modes.
    has_writer: bool = False
    # How long a search may take whose answer a model words, unless it says itself.
    model_ms: int = modes.RAG_DEADLINE_MS
    # Tenants for whom no model answers.
    unmodelled: frozenset[str] = frozenset()

    def may_word(self, mode: Mode, scope: Scope) -> bool:
        """Tell whether a model may word the answer of a mode for whoever asks."""
        # An agent's own model words its answer, and is there wherever the mode is.
        is_own = _is_rag(mode) or mode.name == modes.AGENT
        has_model = mode.category == "llm" if is_own else self.has_writer
        return self.enabled and has_model and scope.tenant not in self.unmodelled


EVERY_ANSWER = AnswerLimits()


def choose_answering(
    chosen: Chosen,
    wanted: Wanted,
    limits: AnswerLimits,
    scope: Scope,
    *,
    is_question: bool,
) -> Chosen:
    """Return the mode that `auto` takes for a question, by who may answer it."""
    rag = limits.rag
    if not is_question:
        return chosen
    if rag is None:
        return modes.without_model(chosen)
    is_open = modes.is_open(chosen) and wanted in {None, "llm"}
    return (
        modes.by_rag(chosen, rag) if is_open and limits.may_word(rag, scope) else chosen
    )


def want_answer(
    wanted: Wanted,
    looks: Synthesis,
    limits: AnswerLimits,
    chosen: Chosen,
    scope: Scope,
    *,
    is_number: bool = False,
) -> Synthesis | None:
    """Return how the answer is to be written; None: the hits alone are wanted.

    A number alone asks nothing that a sentence answers: its entry is wanted.
    """
    if wanted and not limits.enabled:
        message = "Answers are switched off here (`synthesis.enabled`)."
        raise ModuleNotEnabledError(message, module_name="synthesis")
    is_worded = limits.may_word(chosen.mode, scope)
    if wanted == "llm" and not is_worded:
        message = "No model answers here (`reasoning.provider`)."
        raise ModuleNotEnabledError(message, module_name="synthesize")
    if wanted is None and limits.enabled:
        if _is_rag(chosen.mode) or chosen.mode.name == modes.AGENT:
            wanted = "llm" if is_worded else "deterministic"
        elif chosen.asked in modes.ANSWERED and not is_number:
            wanted = "deterministic"
    return replace(looks, by=wanted) if wanted else None


def is_by_model(synthesis: Synthesis | None, asked: Node | None) -> bool:
    """Tell whether a model words the answer; never where no words are asked for."""
    is_wanted = synthesis is not None and synthesis.by == "llm"
    return is_wanted and tree_text.wants(asked)


def reasons_itself(mode: Mode) -> bool:
    """Tell whether a model has a part in a mode besides wording its answer."""
    return mode.category == "llm" and not _is_rag(mode)


def _is_rag(mode: Mode) -> bool:
    return mode.name == modes.RAG
