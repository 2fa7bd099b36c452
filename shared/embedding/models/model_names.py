"""What an embedding model is called, which says where its vectors come from."""

import re
from itertools import pairwise

from shared.errors import InvalidRequestError
from shared.settings.settings import Settings

BGE = "bge-small-en-v1.5-int8"
MINILM, MINILM_FP32 = "all-MiniLM-L6-v2-int8", "all-MiniLM-L6-v2-fp32"
DEFAULT_MODEL = BGE
# Beside one that speaks few languages, for entries and questions in all others.
SECOND, SECOND_DIMENSION = "use-multilingual-v3", 512
ALIASES = {
    "bge-small-en-v1.5": BGE,
    "BAAI/bge-small-en-v1.5": BGE,
    "all-MiniLM-L6-v2": MINILM,
    "sentence-transformers/all-MiniLM-L6-v2": MINILM,
}
BUILT_IN = (BGE, MINILM, MINILM_FP32)
# MiniLM with a vector for each piece of a text; nothing is stored by it.
TOKENS = f"{MINILM}-tokens"
# What a model was trained to read before a question, and not before a text.
QUESTION_PREFIXES = {BGE: "Represent this sentence for searching relevant passages: "}
# What each was trained for; a text too short to tell is in the first of them.
LANGUAGES = {
    **dict.fromkeys(BUILT_IN, ("en",)),
    SECOND: (
        *("en", "de", "es", "fr", "it", "nl", "pl", "pt"),
        *("ar", "ja", "ko", "ru", "th", "tr", "zh"),
    ),
}
# The cosine below which at most 5 % of what was judged relevant lies.
SIMILARITY_FLOORS = {BGE: 0.48, MINILM: 0.20, MINILM_FP32: 0.20, SECOND: 0.06}
# What is worth as much by one model as by another: half, and 95 %, of what has nothing
# to do with a question lies below the first two, 75 % of what is relevant below the
# third. Of the second model over questions and entries of different languages.
EQUAL_COSINES = {
    BGE: (0.505, 0.605, 0.744),
    MINILM: (0.159, 0.324, 0.610),
    MINILM_FP32: (0.159, 0.324, 0.610),
    SECOND: (0.082, 0.212, 0.325),
}
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


def equal_cosine(cosine: float, model: str, other: str) -> float:
    """Return the cosine by another model that is worth as much; of strangers itself."""
    known, wanted = (EQUAL_COSINES.get(one) for one in (model, other))
    if known is None or wanted is None:
        return cosine
    points = zip((-1.0, *known, 1.0), (-1.0, *wanted, 1.0), strict=True)
    for (left, low), (right, high) in pairwise(points):
        if cosine <= right:
            return low + (high - low) * (cosine - left) / (right - left)
    return 1.0


def told_dimension(model: str, settings: Settings) -> int | None:
    """Return how long settings say that a model's vectors are; None: they do not."""
    said = settings.search_modules.semantic.settings.embedding_dimension
    return said if model == choose_first_model(settings) else None


def check_model_name(model: str, settings: Settings) -> str:
    """Return the full name of a model that can be meant here, or refuse it."""
    name = resolve_alias(model)
    if name in (*BUILT_IN, SECOND) or HASHING.fullmatch(name):
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
