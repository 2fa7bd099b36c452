"""The pipelines that are installed, and those that the settings switch on.

A pipeline that cannot be loaded fails its own searches alone: the others go on.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import EntryPoint
from itertools import chain

from shared import plugins
from shared.errors import ConfigurationError, LogchordError
from shared.log import get_logger
from shared.plugins import PipelineRegistration
from shared.search.pipelines.pipeline_contract import DEADLINE_MS, PipelineDescriptor
from shared.search.query.modes import MIN_DEADLINE_MS, MOST_DEADLINE_MS, Mode
from shared.search.retrieval import installed_modules as modules
from shared.search.retrieval.search_parameters import ParameterDescriptor
from shared.settings.settings import Settings

log = get_logger()


@plugins.until_extended
def find_pipelines() -> Mapping[str, PipelineDescriptor | ConfigurationError]:
    """Return every installed pipeline by its name, or why it cannot be used."""
    points = plugins.points(plugins.PIPELINES)
    return {name: _load(points[name]) for name in sorted(points)}


def pipeline(name: str) -> PipelineDescriptor:
    """Return the descriptor of a pipeline, or raise why it cannot be used."""
    return plugins.usable(find_pipelines(), name, "pipeline")


def modes_of(settings: Settings) -> tuple[Mode, ...]:
    """Return the modes of the pipelines that are switched on."""
    return tuple(
        mode_of(name, tuple(dict.fromkeys(given.retrieval_modules)))
        for name, given in sorted(settings.pipelines.plugins.items())
        if given.enabled
    )


def list_parameters(
    names: Iterable[str], composed: Sequence[Mode]
) -> list[ParameterDescriptor]:
    """List the parameters of modules and pipelines, and of modules that these ask."""
    families = {one.name: one.families for one in composed}
    asked: dict[str, None] = {}
    for name in names:
        asked |= dict.fromkeys((*families.get(name, ()), name))
    pipelines = find_pipelines()
    own = (pipelines.get(name) for name in asked)
    taken = (one.parameters for one in own if isinstance(one, PipelineDescriptor))
    return [*modules.list_parameters([*asked]), *chain.from_iterable(taken)]


def mode_of(name: str, families: tuple[str, ...]) -> Mode:
    """Return the mode of a pipeline that searches the given module families."""
    one = find_pipelines().get(name)
    if not isinstance(one, PipelineDescriptor):
        # A pipeline that cannot be used is one branch, which fails and says why.
        return Mode(name, families, DEADLINE_MS, name, str(one), is_one=True)
    return Mode(
        name,
        families,
        one.deadline_ms,
        one.label,
        one.description,
        category=one.category,
        is_one=one.execute is not None,
    )


def _load(point: EntryPoint) -> PipelineDescriptor | ConfigurationError:
    try:
        made = point.load()()
        wrong = next(_flaws(point, made), None)
    except LogchordError as exc:
        return _unusable(point.name, str(exc))
    except modules.BROKEN as exc:
        log.exception("pipeline_not_loaded", pipeline=point.name)
        return _unusable(
            point.name, f"loading {point.value} ended in {type(exc).__name__}"
        )
    if wrong:
        return _unusable(point.name, wrong)
    said = plugins.registration(plugins.PIPELINES, point.name)
    if said and not made.description:
        made = replace(made, description=said.description)
    return made  # type: ignore[no-any-return]


def _flaws(point: EntryPoint, made: object) -> Iterator[str]:
    if not isinstance(made, PipelineDescriptor) or made.name != point.name:
        yield f"{point.value} returned no descriptor of that name"
        return
    given: tuple[object, ...] = made.parameters
    function: object = made.execute
    said = plugins.registration(plugins.PIPELINES, point.name)
    if isinstance(said, PipelineRegistration) and said.category != made.category:
        yield f"it was registered as {said.category} and calls itself {made.category}"
    if not plugins.NAME.fullmatch(made.name) or made.name in modules.RESERVED:
        yield "a name is of small letters, digits and underscores, and no mode's"
    if made.name in modules.RESERVED_UNITS or made.name in modules.find_modules():
        yield "a search module, or what scores are called, has its name"
    if not all(isinstance(one, ParameterDescriptor) for one in given):
        yield "one of its parameters is no ParameterDescriptor"
    if function is not None and not callable(function):
        yield "execute is a function"
    if not MIN_DEADLINE_MS <= made.deadline_ms <= MOST_DEADLINE_MS:
        yield f"its deadline_ms is {MIN_DEADLINE_MS} to {MOST_DEADLINE_MS}"


def _unusable(name: str, why: str) -> ConfigurationError:
    message = f"The pipeline {name} cannot be used: {why}."
    return ConfigurationError(message, config_key=f"pipelines.{name}")
