"""Vectors that no table should hold are refused; weights are who they say."""

from pathlib import Path

import numpy as np
import pytest

from shared.embedding import load_model
from shared.embedding.models import convert_minilm, minilm_weights, model_folder
from shared.embedding.models.encoder_contract import Vectors, check_vectors
from shared.embedding.models.hashing_encoder import HashingEncoder
from shared.embedding.models.minilm_weights import WeightFiles
from shared.errors import ConfigurationError, EmbeddingGenerationError


@pytest.mark.parametrize("spoiled", ["safetensors", "tokenizer"])
def test_weights_that_were_changed_are_refused(tmp_path: Path, spoiled: str) -> None:
    real = minilm_weights.installed()
    files = {"safetensors": real.safetensors, "tokenizer": real.tokenizer}
    content = bytearray(files[spoiled].read_bytes())
    content[-1] ^= 1
    files[spoiled] = tmp_path / f"changed-{spoiled}"
    files[spoiled].write_bytes(content)

    with pytest.raises(ConfigurationError, match="not the one"):
        convert_minilm.ensure(
            tmp_path / "cache",
            source=WeightFiles(files["safetensors"], files["tokenizer"]),
        )
    assert (
        model_folder.manifest_of(
            model_folder.folder_of(tmp_path / "cache", convert_minilm.INT8)
        )
        is None
    )


def test_weights_that_are_not_there_say_how_to_get_them(tmp_path: Path) -> None:
    nowhere = WeightFiles(tmp_path / "a", tmp_path / "b")
    with pytest.raises(ConfigurationError, match="make setup"):
        convert_minilm.ensure(tmp_path / "cache", source=nowhere)


def test_a_cache_that_cannot_be_written_names_the_folder(tmp_path: Path) -> None:
    (tmp_path / "models").write_text("a file in the way")
    with pytest.raises(ConfigurationError, match="LOGCHORD_CACHE"):
        convert_minilm.ensure(tmp_path)


def test_an_unknown_model_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no embedding model 'gpt-9'"):
        load_model.load_encoder("gpt-9", tmp_path)


def unit(*values: float) -> Vectors:
    return np.array(values, dtype=np.float32)


@pytest.mark.requirement("B15")
@pytest.mark.parametrize(
    ("vectors", "flaw"),
    [
        pytest.param([unit(np.nan, 1, 0)], "NaN", id="NaN"),
        pytest.param([unit(np.inf, 1, 0)], "NaN or infinity", id="infinity"),
        pytest.param([unit(0, 0, 0)], "length 0.000", id="zero vector"),
        pytest.param([unit(3, 0, 0)], "length 3.000", id="not of length one"),
        pytest.param([unit(1, 0)], "shape", id="wrong dimension"),
        pytest.param([unit(1, 0, 0), unit(1, 0)], "shape", id="two dimensions"),
        pytest.param([], "0 vectors for", id="empty list"),
        pytest.param([unit(1, 0, 0)] * 3, "3 vectors for", id="too many"),
    ],
)
def test_a_vector_that_no_table_should_hold_is_refused(vectors, flaw) -> None:
    count = 2 if len(vectors) == 2 else 1
    with pytest.raises(EmbeddingGenerationError, match=flaw) as caught:
        check_vectors(vectors, count, 3, "some-model")
    assert caught.value.model_name == "some-model"


def test_the_hashing_encoder_gives_equal_words_equal_directions() -> None:
    hashing = HashingEncoder(64)
    first, same, other = hashing.encode(["RF trip", "trip rf", "vacuum leak"])
    assert np.array_equal(first, same)
    assert first @ other < 0.9
    # Fixed for ever: stored vectors and queries of another process must agree.
    assert np.flatnonzero(hashing.encode(["cavity 3 tripped"])).tolist() == [0, 3, 55]
    assert np.linalg.norm(hashing.encode([""])[0]) == 1.0


def test_the_hashing_encoder_loads_by_name(tmp_path: Path) -> None:
    loaded = load_model.load_encoder("hashing-16", tmp_path)
    assert (loaded.model, loaded.dimension) == ("hashing-16", 16)
    assert not list(tmp_path.iterdir())
