"""What an encoder is, and the check that its vectors pass before they are used."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from shared.embedding.models.model_names import QUESTION_PREFIXES
from shared.errors import EmbeddingGenerationError

Vectors = NDArray[np.float32]

NORM_TOLERANCE = 0.01


class Word(NamedTuple):
    """A word of a text: where it stands, and how many pieces the model makes of it."""

    start: int
    end: int
    tokens: int


class Encoder(Protocol):
    """An encoder turns texts into vectors; safe to share between threads."""

    @property
    def model(self) -> str:
        """The name stored with every vector, precision included."""

    @property
    def dimension(self) -> int:
        """The length of every vector."""

    @property
    def max_tokens(self) -> int:
        """How many pieces of a text one vector can hold; the rest would be cut."""

    def within(self, seconds: float, /) -> Self:
        """Return an encoder that gives up on its server after so many seconds."""

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return one finite unit vector a text; the same text, the same vector."""

    def count_tokens(self, text: str) -> int:
        """Return how many pieces the whole text has."""

    def words(self, text: str) -> list[Word]:
        """Return the words of a text in order, with the pieces of each."""


def encode_question(encoder: Encoder, text: str) -> Vectors:
    """Return the vector of a question, below what its model reads before one."""
    return encoder.encode([QUESTION_PREFIXES.get(encoder.model, "") + text]).reshape(-1)


def check_vectors(
    vectors: Sequence[Vectors] | Vectors, count: int, dimension: int, model: str
) -> Vectors:
    """Return the vectors as one array, or refuse what no table should ever hold."""
    flaw = None
    if len(vectors) != count:
        flaw = f"{len(vectors)} vectors for {count} texts"
    elif any(np.shape(vector) != (dimension,) for vector in vectors):
        shapes = sorted({np.shape(vector) for vector in vectors})
        flaw = f"vectors of shape {shapes} where length {dimension} is wanted"
    else:
        array = np.asarray(vectors, dtype=np.float32).reshape(count, dimension)
        norms = np.linalg.norm(array, axis=1)
        if not np.isfinite(array).all():
            flaw = "a vector with NaN or infinity"
        elif (np.abs(norms - 1.0) > NORM_TOLERANCE).any():
            flaw = f"a vector of length {norms[np.abs(norms - 1.0).argmax()]:.3f}"
        else:
            return array
    message = f"The embedding model {model} answered with {flaw}."
    raise EmbeddingGenerationError(message, technical=flaw, model_name=model)


class CrossEncoder(Protocol):
    """A model that reads a question and a text together; safe between threads."""

    # Whether it says likenesses, piece by piece, and no logits.
    late: bool

    def logits(self, query: str, texts: Sequence[str], seconds: float) -> list[float]:
        """Return one finite score for each text within the time, or raise."""
