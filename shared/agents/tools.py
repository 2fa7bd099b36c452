"""What an agent may call: the search modules it is given, and four ways to look closer.

All of them only read, and see no more than whoever asks.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    create_model,
)

from shared.errors import InvalidRequestError, LogchordError
from shared.search.pipelines import installed_pipelines
from shared.search.pipelines.pipeline_contract import PipelineDescriptor
from shared.search.query.plan import Plan
from shared.search.retrieval import installed_modules
from shared.search.retrieval.search_parameters import (
    ParameterDescriptor,
    check_parameters,
)
from shared.search.retrieval.tool_schema import SearchArguments

GET_ENTRY, GET_THREAD = "get_entry", "get_thread"
FILTER_VALUES, PARSE_TIME = "filter_values", "parse_time"
# How many entries of a thread are read, and of a search's hits told of.
MOST_OF_THREAD, MOST_HITS = 30, 8
_KINDS = {"float": float, "int": int, "bool": bool}
_REF = "The id of an entry, or its number."


class _Arguments(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class EntryArguments(_Arguments):
    """Which entry is read, or the thread of which."""

    ref: str = Field(min_length=1, max_length=300, description=_REF)


class ValueArguments(_Arguments):
    """Which values are listed; never people: their names are kept from models."""

    field: Literal["device", "kind", "logbook", "source", "system", "tag"] = Field(
        description="The field."
    )
    prefix: str | None = Field(None, max_length=100, description="How they begin.")
    limit: int = Field(20, ge=1, le=50, description="So many, the commonest first.")


class TimeArguments(_Arguments):
    """Which words mean a time."""

    text: str = Field(
        min_length=1, max_length=100, description="Such as `last night`, `week 23`."
    )


@dataclass(frozen=True, slots=True)
class AgentTool:
    """A tool that a model may call: its name, and its arguments."""

    name: str
    description: str
    arguments: type[BaseModel]
    # The search module behind it; None: one of ours that looks closer.
    module: str | None = None

    def describe(self) -> dict[str, Any]:
        """Return the tool in the format that model endpoints expect."""
        schema = self.arguments.model_json_schema()
        told = {"name": self.name, "description": self.description}
        return {"type": "function", "function": {**told, "parameters": schema}}

    def read(self, given: Mapping[str, Any]) -> BaseModel:
        """Return the arguments, checked; raises `ValueError` with what is wrong.

        Some models write null for whatever they leave out.
        """
        said = {name: one for name, one in given.items() if one is not None}
        try:
            return self.arguments.model_validate(said)
        except ValidationError as exc:
            told = exc.errors(include_url=False, include_context=False)
            flaws = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in told]
            raise ValueError("; ".join(flaws[:5])) from exc


_CLOSER = (
    AgentTool(GET_ENTRY, "Read one entry.", EntryArguments),
    AgentTool(
        GET_THREAD,
        f"Read an entry's thread: its first {MOST_OF_THREAD} entries.",
        EntryArguments,
    ),
    AgentTool(FILTER_VALUES, "List the values that a filter can have.", ValueArguments),
    AgentTool(PARSE_TIME, "Read words as a time range.", TimeArguments),
)


def list_tools(plan: Plan) -> dict[str, AgentTool]:
    """Return the tools of an agent by name: the modules of its plan, and our four."""
    return {one.name: one for one in (*_searching(plan), *_CLOSER)}


def _searching(plan: Plan) -> Iterator[AgentTool]:
    pipelines = installed_pipelines.find_pipelines()
    for branch in plan.searching:
        composed = pipelines.get(branch)
        if isinstance(composed, PipelineDescriptor):
            taken = add_parameters(SearchArguments, composed.parameters)
            yield AgentTool(branch, composed.description, taken, branch)
            continue
        try:
            one = installed_modules.find_module(branch)
        except LogchordError:
            # It is broken: its branch would fail, so nobody is offered it.
            continue
        own = installed_modules.list_parameters((branch,))
        taken = add_parameters(one.args_schema, own)
        yield AgentTool(one.search_mode, one.description, taken, branch)


def add_parameters(
    arguments: type[BaseModel], parameters: Sequence[ParameterDescriptor]
) -> type[BaseModel]:
    """Return a tool's arguments with what its package says that it takes besides."""
    own: dict[str, Any] = {
        one.name: (
            Annotated[
                _KINDS.get(one.type, str), AfterValidator(partial(_checked, one))
            ],
            Field(one.default, description=one.label),
        )
        for one in parameters
        if one.name not in arguments.model_fields
    }
    if not own:
        return arguments
    made: type[BaseModel] = create_model("Arguments", __base__=arguments, **own)
    return made


def _checked(one: ParameterDescriptor, value: Any) -> Any:
    try:
        return check_parameters({one.name: value}, (one,))[one.name]
    except InvalidRequestError as exc:
        raise ValueError(exc.message) from exc


def key_of(name: str, arguments: BaseModel) -> str:
    """Return a key that equal calls share, however their arguments are written."""
    return json.dumps([name, arguments.model_dump(mode="json")], sort_keys=True)


def most_told(name: str) -> int:
    """Return of how many entries that a tool finds a model is told."""
    return MOST_OF_THREAD if name == GET_THREAD else MOST_HITS


def query_of(arguments: Mapping[str, Any]) -> str | None:
    """Return the question of a search tool's arguments."""
    asked = arguments.get("query")
    return asked if isinstance(asked, str) else None
