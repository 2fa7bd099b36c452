"""The installed search modules, ours and those of other packages.

A module that cannot be loaded fails its own branch alone: the others go on.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint
from typing import Any

from pydantic import BaseModel

from shared import plugins
from shared.errors import ConfigurationError, LogchordError
from shared.log import get_logger
from shared.search.jobs.outcome import RERANK
from shared.search.query import modes
from shared.search.retrieval.module_contract import Engine, SearchToolDescriptor
from shared.search.retrieval.search_parameters import ParameterDescriptor

log = get_logger()

# Names that other packages' modules may not have: those of modes and steps.
RESERVED = frozenset(
    {*(RERANK, modes.AUTO, modes.AGENT), *(*modes.MODES, *modes.ALIASES, *modes.LATER)}
)
# Units that ranking has a scale for: other packages' modules may not use them.
RESERVED_UNITS = frozenset(
    {
        *("bm25", "cosine", "entry_time", "rerank_logit", "rrf", "trigram", "ts_rank"),
        *modes.EVIDENCE,
    }
)
# Errors in which importing another package's module may end.
BROKEN = (ImportError, AttributeError, TypeError, ValueError, LookupError, OSError)


@dataclass(frozen=True, slots=True)
class Installed:
    """A search module that is installed, with its parameters."""

    descriptor: SearchToolDescriptor
    parameters: tuple[ParameterDescriptor, ...]
    # Whether it came with Logchord; the hits of others are looked up again.
    is_ours: bool


@plugins.until_extended
def find_modules() -> Mapping[str, Installed | ConfigurationError]:
    """Return every installed module by its name, or why it cannot be used."""
    points = plugins.points(plugins.SEARCH_MODULES)
    return {name: _load(points[name]) for name in sorted(points)}


def list_modules() -> Mapping[str, Installed]:
    """Return the modules that can be used, by their names."""
    return {
        name: one for name, one in find_modules().items() if isinstance(one, Installed)
    }


def load_module(name: str) -> Installed:
    """Return a module, or raise why it cannot be used or that there is none."""
    return plugins.usable(find_modules(), name, "search module")


def find_module(name: str) -> SearchToolDescriptor:
    """Return the descriptor of a module, or raise why it cannot be used."""
    return load_module(name).descriptor


def list_parameters(names: Sequence[str]) -> list[ParameterDescriptor]:
    """Return the parameters of those of these modules that other packages brought."""
    known = list_modules()
    others = [known[name] for name in names if name in known]
    return [p for one in others if not one.is_ours for p in one.parameters]


def unit_of(name: str) -> str:
    """Return the unit of a module's scores; empty where it cannot be used."""
    known = _descriptor(name)
    return known.unit if known else ""


def family_of(name: str) -> str:
    """Return the family of a module: its own name where it is not installed here."""
    known = _descriptor(name)
    return known.search_mode if known else name


def compares_words(name: str) -> bool:
    """Tell whether a module of this name compares the words of a question."""
    known = _descriptor(name)
    return known is not None and known.compares_words


def stages_of(name: str) -> tuple[str, ...]:
    """Return the stages that an entry must have passed for a module to find it."""
    known = _descriptor(name)
    return known.needs_stages if known else ()


def engine_of(name: str) -> Engine:
    """Return the server that answers a module; `package` where it is another's."""
    known = _descriptor(name)
    return known.engine if known else "package"


def _descriptor(name: str) -> SearchToolDescriptor | None:
    one = find_modules().get(name)
    return one.descriptor if isinstance(one, Installed) else None


def _load(point: EntryPoint) -> Installed | ConfigurationError:
    try:
        provide = point.load()
        described, parameters = provide(), _parameters(provide)
    except LogchordError as exc:
        return _unusable(point.name, str(exc))
    except BROKEN as exc:
        log.exception("search_module_not_loaded", module=point.name)
        return _unusable(
            point.name, f"loading {point.value} ended in {type(exc).__name__}"
        )
    is_ours = plugins.is_ours(point)
    wrong = next(_flaws(point, described, parameters, is_ours=is_ours), None)
    if wrong:
        return _unusable(point.name, wrong)
    said = plugins.registration(plugins.SEARCH_MODULES, point.name)
    if said and not described.description:
        described = replace(described, description=said.description)
    return Installed(described, parameters, is_ours)


def _parameters(provide: Callable[[], Any]) -> tuple[ParameterDescriptor, ...]:
    """Return the parameters described beside the descriptor, if any are."""
    describe = getattr(inspect.getmodule(provide), "get_parameter_descriptors", None)
    return tuple(describe()) if describe else ()


def _flaws(
    point: EntryPoint, made: object, parameters: tuple[object, ...], *, is_ours: bool
) -> Iterator[str]:
    if not isinstance(made, SearchToolDescriptor) or made.name != point.name:
        yield f"{point.value} returned no descriptor of that name"
        return
    if not all(isinstance(one, ParameterDescriptor) for one in parameters):
        yield "get_parameter_descriptors returned what is no ParameterDescriptor"
    if not _is_model(made.args_schema):
        yield "its args_schema is no model of pydantic's"
    if not all(map(callable, _functions(made))):
        yield "execute and format_result are functions"
    if is_ours:
        return
    if not plugins.NAME.fullmatch(made.name) or made.name in RESERVED:
        yield "a name is of small letters, digits and underscores, and no mode's"
    if made.search_mode != made.name:
        yield "its search_mode is its own name"
    if made.unit in RESERVED_UNITS or not plugins.NAME.fullmatch(made.unit):
        yield "its unit is a name of its own, of small letters"
    if made.fallback is not None:
        yield "only what Logchord brings has a fallback"


def _functions(made: SearchToolDescriptor) -> tuple[object, ...]:
    return made.execute, made.format_result


def _is_model(schema: object) -> bool:
    return isinstance(schema, type) and issubclass(schema, BaseModel)


def _unusable(name: str, why: str) -> ConfigurationError:
    message = f"The search module {name} cannot be used: {why}."
    return ConfigurationError(message, config_key=f"search_modules.{name}")
