"""The name that was most likely meant, where one is unknown."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, get_args

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic_core import ErrorDetails

# Comparing takes longer the longer a name is; none of ours is nearly so long.
MAX_CHARACTERS = 100
# What pydantic says of a field that a model has not.
UNKNOWN = "extra_forbidden"
# Below it words are alike by chance: `tenant` and `date_to`, `agentic` and `semantic`.
_LIKENESS = 0.7
# In the words of a file of settings, not of Python.
_SHAPES = {
    "tuple_type": "it is a list, written as [one, another]",
    "model_type": "it is a section: settings of its own stand below it",
    "dict_type": "it is a section: names and their values stand below it",
}


def hint(name: str, known: Iterable[str]) -> str:
    """Return a sentence that names the nearest of what is known, or nothing."""
    near = _nearest(name, known)
    return f" Did you mean {near}?" if near else ""


def hint_field(body: Any, place: Sequence[str | int]) -> str:
    """Return a sentence that names the nearest field at a place of a body, or nothing.

    `body` is what the body is said to be; the last of the place is what was not known.
    """
    return hint(str(place[-1]), _fields(body, place)) if place else ""


def explain_flaw(error: ErrorDetails, model: type[BaseModel]) -> str:
    """Return the flaw of a setting without its value; no period stands at its end."""
    if error["type"] in _SHAPES:
        return _SHAPES[error["type"]]
    if error["type"] != UNKNOWN:
        return error["msg"].removeprefix("Value error, ")
    near = _nearest(str(error["loc"][-1]), _fields(model, error["loc"]))
    told = f"the nearest is {near}" if near else "the reference of settings lists them"
    return f"there is no such setting; {told}"


def _nearest(name: str, known: Iterable[str]) -> str | None:
    folded = {one.casefold(): one for one in sorted(known)}
    near = difflib.get_close_matches(
        name[:MAX_CHARACTERS].casefold(), list(folded), n=1, cutoff=_LIKENESS
    )
    return folded[near[0]] if near else None


def _fields(body: Any, place: Sequence[str | int]) -> set[str]:
    """Return the fields that the models at a place have."""
    models = [*find_models(body)]
    for part in place[:-1]:
        below = [*_below(models, part)]
        # A place within a list, and the name of one of several models, are no field.
        models = below or models
    return {name for one in models for name in one.model_fields}


def _below(models: Sequence[type[BaseModel]], part: str | int) -> Iterator[Any]:
    for one in models:
        field = one.model_fields.get(str(part))
        if field is not None:
            yield from find_models(field.annotation)


def find_models(said: Any) -> Iterator[type[BaseModel]]:
    """Yield the models that an annotation names."""
    # `logchord --help` names near commands, and is there before this is loaded.
    from pydantic import BaseModel

    if isinstance(said, type) and issubclass(said, BaseModel):
        yield said
    for one in get_args(said):
        yield from find_models(one)
