"""A model's words on their way: some twenty chunks a second, none cut in a word."""

from collections.abc import Mapping
from typing import Any

import pytest

from shared.answers.prompt.context import AssembledContext
from shared.answers.prompt.model_prompt import ModelPrompt
from shared.answers.prompt.pseudonyms import Pseudonyms
from shared.answers.worded import worded_answer
from shared.answers.worded.check_sentence import Checker
from shared.answers.worded.model_text import Mark
from shared.answers.worded.worded_answer import CHUNK_SECONDS, StreamedText
from tests.unit.answers.worded.test_worded_answer import CANDIDATES, ENTRY, GROUNDED

SAID = (
    "Gate valve 8 closed because the air had sagged to 3 bar [1.1]."
    " It was PERSON_1 who saw that. Turbine 9 exploded [1.1]."
)
SHOWN = (
    "Gate valve 8 closed because the air had sagged to 3 bar [#OPS-1@1]."
    " It was J. Ruiz who saw that. Turbine 9 exploded [#OPS-1@1]."
)


class Ticking:
    """A clock that somebody moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Ticking:
    ticking = Ticking()
    monkeypatch.setattr(worded_answer, "time", ticking)
    return ticking


def streaming(into: list[Mapping[str, Any]]) -> StreamedText:
    prompt = ModelPrompt(
        messages=[],
        context=AssembledContext("", ("OPS-1",), is_truncated=False),
        marks={"1.1": Mark(ENTRY, CANDIDATES[-1]), "#OPS-1": Mark(ENTRY)},
        pseudonyms=Pseudonyms(["J. Ruiz"]),
        given={ENTRY: CANDIDATES},
    )
    return StreamedText(GROUNDED, prompt, Checker(), into.append)


def test_a_hundred_deltas_in_a_second_are_some_twenty_chunks(clock: Ticking) -> None:
    chunks: list[Mapping[str, Any]] = []
    streamed = streaming(chunks)
    for number in range(100):
        streamed.hear(f"word{number} ")
        clock.now += 0.01
    streamed.end()
    assert 1 / CHUNK_SECONDS == 20
    assert 17 <= len(chunks) <= 22
    assert "".join(one["text"] for one in chunks) == "".join(
        f"word{number} " for number in range(100)
    )


@pytest.mark.parametrize("size", [1, 3, 7, len(SAID)])
def test_no_word_name_or_mark_is_cut_wherever_the_model_cuts(clock, size) -> None:
    chunks: list[Mapping[str, Any]] = []
    streamed = streaming(chunks)
    for start in range(0, len(SAID), size):
        streamed.hear(SAID[start : start + size])
        # Each delta is late enough to be handed on by itself.
        clock.now += 1.0
    assert streamed.has_begun
    streamed.end()
    texts = [one["text"] for one in chunks]
    assert "".join(texts) == SHOWN
    # Whatever is handed on before the end ends between two words.
    assert all(one[-1:].isspace() for one in texts[:-1])
    assert not any("PERSON" in one or "[1" in one for one in texts)


@pytest.mark.parametrize("size", [1, len(SAID)])
def test_each_sentence_is_judged_once_when_it_has_ended(clock, size) -> None:
    chunks: list[Mapping[str, Any]] = []
    streamed = streaming(chunks)
    for start in range(0, len(SAID), size):
        streamed.hear(SAID[start : start + size])
        clock.now += 1.0
    streamed.end()
    verdicts = [one for chunk in chunks for one in chunk["sentences"]]
    assert [one["text"][:12] for one in verdicts] == [
        *("Gate valve 8", "It was J. Ru", "Turbine 9 ex"),
    ]
    assert [one["holds"] for one in verdicts] == [True, False, False]
