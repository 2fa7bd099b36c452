"""How many tokens a text is to a language model, by that model's own tokenizer."""

import json
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from tokenizers import Tokenizer

from shared.errors import ConfigurationError


@lru_cache(maxsize=4)
def load_token_counter(path: str) -> Callable[[str], int]:
    """Load a `tokenizer.json`; return a function that counts a text's tokens by it."""
    try:
        text = Path(path).read_text("utf-8")
        is_tokenizer = "model" in json.loads(text)
    except (OSError, ValueError, TypeError):
        is_tokenizer = False
    if not is_tokenizer:
        message = f"The tokenizer {path} cannot be read."
        raise ConfigurationError(message, config_key="pipelines.rag.tokenizer")
    tokenizer = Tokenizer.from_str(text)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)
