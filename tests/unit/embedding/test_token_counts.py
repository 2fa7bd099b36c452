"""Tokens of a text, as the tokenizer of a model counts them."""

from pathlib import Path

import pytest
from pydantic import ValidationError
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from shared.embedding.models.token_counts import load_token_counter
from shared.errors import ConfigurationError
from shared.settings.plugin_sections import RAGSettings


def test_a_models_own_tokenizer_counts(tmp_path: Path) -> None:
    tokenizer = Tokenizer(WordLevel({"beam": 0, "[UNK]": 1}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    # As those of encoders do: what is longer is cut, what is shorter filled up.
    tokenizer.enable_truncation(3)
    tokenizer.enable_padding(length=3)
    path = tmp_path / "tokenizer.json"
    tokenizer.save(str(path))
    count = load_token_counter(str(path))
    assert [count("beam"), count("beam lost at 400 mA."), count("")] == [1, 6, 0]


@pytest.mark.parametrize("content", [None, "{}"])
def test_what_is_no_tokenizer_is_named(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "tokenizer.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ConfigurationError, match=r"tokenizer\.json cannot be read"):
        load_token_counter(str(path))


def test_tokens_are_not_bounded_without_a_tokenizer() -> None:
    with pytest.raises(ValidationError, match="needs a tokenizer"):
        RAGSettings(max_context_tokens=1000)
    RAGSettings(max_context_tokens=1000, tokenizer="tokenizer.json")
