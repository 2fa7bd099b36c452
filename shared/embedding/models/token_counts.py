"""How many tokens a text is to a language model, by that model's own tokenizer."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from tokenizers import Tokenizer

from shared.errors import ConfigurationError


@lru_cache(maxsize=4)
def load_token_counter(path: str) -> Callable[[str], int]:
    """Load a `tokenizer.json`; return a function that counts a text's tokens by it."""
    try:
        tokenizer = Tokenizer.from_file(path)
    except Exception as exc:  # tokenizers raises no other
        message = f"The tokenizer {path} cannot be read."
        raise ConfigurationError(message, config_key="pipelines.rag.tokenizer") from exc
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)
