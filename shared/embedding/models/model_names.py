"""What an embedding model is called, which says where its vectors come from."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from shared.errors import InvalidRequestError

if TYPE_CHECKING:
    from shared.settings.settings import Settings

DEFAULT_MODEL = "all-MiniLM-L6-v2-int8"
ALIASES = {
    "all-MiniLM-L6-v2": DEFAULT_MODEL,
    "sentence-transformers/all-MiniLM-L6-v2": DEFAULT_MODEL,
}
BUILT_IN = (DEFAULT_MODEL, "all-MiniLM-L6-v2-fp32")
# The first of them with a vector for each piece of a text; nothing is stored by it.
TOKENS = f"{DEFAULT_MODEL}-tokens"
# What each was trained for.
LANGUAGES = dict.fromkeys(BUILT_IN, ("en",))
# The cosine below which at most 5 % of what was judged relevant lies.
SIMILARITY_FLOORS = dict.fromkeys(BUILT_IN, 0.20)
# A folder with `model.onnx` and `tokenizer.json`.
FOLDER_PREFIX = "onnx:"
HASHING = re.compile(r"hashing-([1-9]\d{0,3})")

LONGEST = 200


def resolve_alias(model: str) -> str:
    """Return the name that a model's vectors are stored under."""
    return ALIASES.get(model, model)


def choose_first_model(settings: Settings) -> str:
    """Return the model that an installation begins with."""
    provider = settings.search_modules.semantic.provider
    if provider is None:
        return resolve_alias(settings.embedding_model)
    return f"{provider}:{settings.embedding_model}"


def told_dimension(model: str, settings: Settings) -> int | None:
    """Return how long settings say that a model's vectors are; None: they do not."""
    said = settings.search_modules.semantic.settings.embedding_dimension
    return said if model == choose_first_model(settings) else None


def check_model_name(model: str, settings: Settings) -> str:
    """Return the full name of a model that can be meant here, or refuse it."""
    name = resolve_alias(model)
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
