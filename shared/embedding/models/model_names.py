"""What an embedding model is called, which says where its vectors come from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shared.embedding.models.encoders import ALIASES, BUILT_IN, FOLDER_PREFIX, HASHING
from shared.errors import InvalidRequestError

if TYPE_CHECKING:
    from shared.settings.settings import Settings

LONGEST = 200


def full(model: str) -> str:
    """Return the name that a model's vectors are stored under."""
    return ALIASES.get(model, model)


def first(settings: Settings) -> str:
    """Return the model that an installation begins with."""
    provider = settings.search_modules.semantic.provider
    if provider is None:
        return full(settings.embedding_model)
    return f"{provider}:{settings.embedding_model}"


def told_dimension(model: str, settings: Settings) -> int | None:
    """Return how long settings say that a model's vectors are; None: they do not."""
    said = settings.search_modules.semantic.settings.embedding_dimension
    return said if model == first(settings) else None


def checked(model: str, settings: Settings) -> str:
    """Return the full name of a model that can be meant here, or refuse it."""
    name = full(model)
    if name in BUILT_IN or HASHING.fullmatch(name):
        return name
    if len(name) <= LONGEST and name.isprintable():
        if name.startswith((FOLDER_PREFIX, "/", "~/")):
            return name
        provider, colon, rest = name.partition(":")
        if colon and rest and provider in settings.api.providers:
            return name
    message = (
        f"{model!r} names no embedding model: take one of {', '.join(BUILT_IN)},"
        " `onnx:/folder`, or `provider:model` with a provider of `api.providers`."
    )
    raise InvalidRequestError.field("model", "unknown_model", message)
