"""An encoder that keeps what it was given, and entries for it to read."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from shared.embedding.models.encoder_contract import Vectors
from shared.embedding.models.hashing_encoder import HashingEncoder


class ReadingEncoder(HashingEncoder):
    """Keeps what it was given."""

    def __init__(self, max_tokens: int = HashingEncoder.max_tokens) -> None:
        super().__init__(8)
        self.max_tokens = max_tokens
        self.read: list[str] = []

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Note the texts, and return their vectors."""
        self.read += texts
        return super().encode(texts)


def entry(title: str, text: str) -> Any:
    """Return what is embedded of an entry."""
    return SimpleNamespace(title=title, text=text, deleted=False)
