"""MiniLM is converted once, whole or not at all, and means what it should."""

import json
import math
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tokenizers import Tokenizer

from shared.embedding import load_model
from shared.embedding.models import (
    convert_minilm,
    minilm_weights,
    model_folder,
    model_names,
)
from shared.embedding.models.minilm_weights import Tensors
from shared.embedding.models.onnx_models import LateInteraction, OnnxEncoder
from shared.embedding.vectors.chunks import cut
from shared.errors import ConfigurationError

Tensor = NDArray[np.float32]

PARAPHRASES = [
    (
        "The RF cavity lost its field and the beam was gone",
        "Beam dump after an RF trip",
    ),
    ("Water is leaking from the cooling circuit", "Coolant drips below the pump"),
    ("We swapped the broken power supply", "The faulty converter was replaced"),
]
UNRELATED = "The safety training takes place in the seminar room on Friday"


@pytest.fixture(scope="session")
def model_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache of this run alone, with the model converted into it."""
    cache = tmp_path_factory.mktemp("cache")
    convert_minilm.ensure(cache)
    return cache


@pytest.fixture(scope="session")
def encoder(model_cache: Path) -> OnnxEncoder:
    """The encoder that shipped first, and is a setting now."""
    return OnnxEncoder(model_folder.folder_of(model_cache, convert_minilm.INT8))


@pytest.fixture
def cache(model_cache: Path, tmp_path: Path) -> Path:
    """A cache of one test's own, to be spoiled."""
    shutil.copytree(model_cache, tmp_path / "own")
    return tmp_path / "own"


def tokens_of(text: str) -> list[int]:
    tokenizer = Tokenizer.from_file(str(minilm_weights.installed().tokenizer))
    tokenizer.no_padding()
    return tokenizer.encode(text).ids


def plain_vector(tensors: Tensors, ids: list[int]) -> Tensor:
    """The published formula of the model in numpy, one text, nothing clever."""

    def dense(name: str, rows: Tensor) -> Tensor:
        return rows @ tensors[f"{name}.weight"].T + tensors[f"{name}.bias"]

    def norm(name: str, rows: Tensor) -> Tensor:
        centred = rows - rows.mean(-1, keepdims=True)
        scaled = centred / np.sqrt(rows.var(-1, keepdims=True) + 1e-12)
        return scaled * tensors[f"{name}.weight"] + tensors[f"{name}.bias"]

    def heads(name: str, rows: Tensor) -> Tensor:
        return dense(name, rows).reshape(len(ids), 12, 32).transpose(1, 0, 2)

    start = "embeddings"
    rows = tensors[f"{start}.word_embeddings.weight"][ids]
    rows = rows + tensors[f"{start}.position_embeddings.weight"][: len(ids)]
    rows = rows + tensors[f"{start}.token_type_embeddings.weight"][0]
    rows = norm(f"{start}.LayerNorm", rows)
    for number in range(6):
        name = f"encoder.layer.{number}"
        query, key, value = (
            heads(f"{name}.attention.self.{part}", rows)
            for part in ("query", "key", "value")
        )
        scores = np.exp(query @ key.transpose(0, 2, 1) / np.sqrt(32))
        shares = scores / scores.sum(-1, keepdims=True)
        mixed = (shares @ value).transpose(1, 0, 2).reshape(len(ids), 384)
        mixed = dense(f"{name}.attention.output.dense", mixed)
        rows = norm(f"{name}.attention.output.LayerNorm", mixed + rows)
        up = dense(f"{name}.intermediate.dense", rows)
        bent = up * 0.5 * (1 + np.vectorize(math.erf)(up / math.sqrt(2)))
        down = dense(f"{name}.output.dense", bent)
        rows = norm(f"{name}.output.LayerNorm", down + rows)
    mean = rows.mean(0)
    return np.asarray(mean / np.linalg.norm(mean), dtype=np.float32)


def files_of(folder: Path) -> dict[str, str]:
    return {path.name: minilm_weights.sha256(path) for path in folder.iterdir()}


def test_minilm_has_384_dimensions_and_names_its_precision(encoder, model_cache):
    loaded = load_model.load_encoder("all-MiniLM-L6-v2", model_cache)
    assert loaded.model == encoder.model == "all-MiniLM-L6-v2-int8"
    assert loaded.dimension == encoder.dimension == 384
    assert loaded.encode(["a"]).shape == (1, 384)


@pytest.mark.parametrize(("said", "meant"), PARAPHRASES)
def test_a_paraphrase_is_nearer_than_something_else(encoder, said, meant):
    first, second, other = encoder.encode([said, meant, UNRELATED])
    assert first @ second > first @ other + 0.2


def test_a_vector_does_not_depend_on_its_neighbours_or_its_thread(encoder):
    texts = [text for pair in PARAPHRASES for text in pair]
    alone = [encoder.encode([text])[0] for text in texts]
    with ThreadPoolExecutor(4) as pool:
        threaded = list(pool.map(encoder.encode, [texts] * 4))
    for together in threaded:
        assert np.array_equal(together, np.stack(alone))


@pytest.mark.parametrize(
    "text", ["", " ", "\u200b", "\n" * 1000, "真空漏れ", "x" * 9000]
)
def test_any_text_has_a_unit_vector(encoder, text):
    (vector,) = encoder.encode([text])
    assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-3)


def test_no_texts_are_no_vectors(encoder):
    assert encoder.encode([]).shape == (0, 384)


def test_the_graph_computes_what_the_plain_formula_computes(encoder, model_cache):
    whole = OnnxEncoder(convert_minilm.ensure(model_cache, convert_minilm.FP32))
    tensors = minilm_weights.read_safetensors(minilm_weights.installed().safetensors)
    text = "RF cavity 3 tripped again during the ramp; klystron interlock, no beam."
    plain = plain_vector(tensors, tokens_of(text))
    assert whole.encode([text])[0] @ plain == pytest.approx(1.0, abs=1e-5)
    assert encoder.encode([text])[0] @ plain > 0.97


def test_two_at_once_convert_once_and_to_the_same_bytes_as_ever(model_cache, tmp_path):
    steps: list[str] = []

    def ensure(_: int) -> Path:
        return convert_minilm.ensure(
            tmp_path, progress=lambda step, *_: steps.append(step)
        )

    with ThreadPoolExecutor(2) as pool:
        again, same = pool.map(ensure, range(2))
    assert again == same
    assert steps.count("building the graph") == 1
    assert files_of(again) == files_of(
        model_folder.folder_of(model_cache, convert_minilm.INT8)
    )
    assert not list(again.parent.glob(".making-*"))


def test_a_half_written_model_is_made_again(cache):
    folder = model_folder.folder_of(cache, convert_minilm.INT8)
    whole = files_of(folder)
    graph = folder / model_folder.GRAPH_FILE
    graph.write_bytes(graph.read_bytes()[:1_000_000])
    (folder.parent / ".making-dead").mkdir()

    with pytest.raises(ConfigurationError):
        OnnxEncoder(folder)
    steps: list[str] = []
    convert_minilm.ensure(
        cache, progress=lambda step, _done, _total: steps.append(step)
    )

    assert files_of(folder) == whole
    assert steps[-1] == "model ready"
    assert not (folder.parent / ".making-dead").exists()


def test_a_whole_model_is_not_made_again(cache):
    steps: list[str] = []
    convert_minilm.ensure(
        cache, progress=lambda step, _done, _total: steps.append(step)
    )
    assert steps == []


def test_a_model_folder_loads_by_its_path(model_cache, tmp_path):
    folder = model_folder.folder_of(model_cache, convert_minilm.INT8)
    assert load_model.load_encoder(str(folder), tmp_path).model == convert_minilm.INT8


def test_a_manifest_of_an_older_conversion_is_not_whole(cache):
    folder = model_folder.folder_of(cache, convert_minilm.INT8)
    path = folder / model_folder.MANIFEST_FILE
    manifest = json.loads(path.read_text())
    path.write_text(json.dumps(manifest | {"converter_version": 0}))
    assert model_folder.manifest_of(folder) is None


def test_every_chunk_of_a_long_text_is_read_whole(encoder):
    text = " ".join(f"Pump {n} at 10.{n} bar, V-{n}/A ok;" for n in range(400))
    fact = "Übertemperatur: the sextupole coil overheated."
    chunks = cut(f"{text} {fact}", encoder)
    assert len(chunks) > 10
    assert all(encoder.count_tokens(c.text) <= encoder.max_tokens for c in chunks)
    assert fact in chunks[-1].text
    query, *vectors = encoder.encode(["magnet too hot", *(c.text for c in chunks)])
    assert int(np.argmax([query @ vector for vector in vectors])) == len(chunks) - 1


def test_late_interaction_is_by_the_same_model_and_finds_what_is_said_alike(
    model_cache, encoder
):
    folder = load_model.folder_of(model_cache, model_names.TOKENS)
    late = LateInteraction(folder)
    for question, answer in PARAPHRASES:
        same, alike, other = late.logits(question, [question, answer, UNRELATED], 10.0)
        assert same == pytest.approx(1.0, abs=1e-3)
        assert same > alike > other
    # The vectors of whole texts are what they were.
    asked = [question for question, _ in PARAPHRASES]
    vectors = OnnxEncoder(folder).encode(asked)
    np.testing.assert_allclose(vectors, encoder.encode(asked), atol=1e-3)
