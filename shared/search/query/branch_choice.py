"""The branches of a search: those of its mode, or those of them that it names."""

from collections.abc import Sequence

from shared import suggest
from shared.errors import ModuleNotEnabledError
from shared.search.query import modes
from shared.search.query.modes import Chosen

# The order in which fusion, answers and stored jobs name the branches.
KEYWORD_MODULES = ("os_bm25", "pg_fts")
KEYWORD = "keyword"
# The modes that also ask the modules of other packages.
_WITH_OTHERS = frozenset({"hybrid", modes.AGENTIC})


def branches(
    chosen: Chosen,
    outside: frozenset[str],
    wanted: Sequence[str] | None,
    *,
    opensearch: bool,
    pipelines: frozenset[str] = frozenset(),
) -> tuple[str, ...]:
    """Return the modules to ask, one branch each; refuse those that the mode lacks.

    A pipeline is a branch beside them where it is named.
    """
    keyword = engine(KEYWORD, opensearch=opensearch)
    families = (chosen.mode.name,) if chosen.mode.is_one else chosen.mode.families
    names = [engine(one, opensearch=opensearch) for one in families]
    if chosen.mode.name in _WITH_OTHERS or chosen.asked == modes.AUTO:
        names += sorted(outside.difference(names))
    if wanted is None:
        return tuple(names)
    if chosen.mode.name in _WITH_OTHERS:
        names += sorted(pipelines.difference(names))
    legal = {name: name for name in names}
    if keyword in legal:
        # Each engine may be asked by its own name, too.
        legal |= {KEYWORD: keyword, KEYWORD_MODULES[1]: KEYWORD_MODULES[1]}
    unknown = [name for name in wanted if name not in legal]
    if unknown:
        raise _refused(unknown[0], chosen, sorted(legal))
    asked = {legal[name] for name in wanted}
    return tuple(name for name in dict.fromkeys([*names, *asked]) if name in asked)


def engine(family: str, *, opensearch: bool) -> str:
    """Return the module that searches for a family; words have one for each engine."""
    if family != KEYWORD:
        return family
    return KEYWORD_MODULES[0] if opensearch else KEYWORD_MODULES[1]


def is_leg(chosen: Chosen, asked: Sequence[str]) -> bool:
    """Tell whether the branches search for words beside another way of the mode."""
    several = len(asked) > 1 or chosen.mode.is_one
    return len(chosen.mode.families) > 1 and several


def _refused(name: str, chosen: Chosen, legal: list[str]) -> ModuleNotEnabledError:
    message = (
        f"The mode {chosen.mode.name} asks no module {name[:50]!r}, or it is switched"
        f" off.{suggest.hint(name, legal)}"
    )
    return ModuleNotEnabledError(message, module_name=name[:50], available=legal)
