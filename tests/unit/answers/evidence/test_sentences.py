"""Where sentences begin and end: whoever broke the lines, and whatever comes."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.answers.evidence.sentences import MAX_CHARACTERS, split_sentences
from tests.support.linear_cost import assert_linear


def split(text: str) -> list[str]:
    return [text[start:end] for start, end, _ in split_sentences(text)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Beam lost. Reset it! Why? Nobody knows", 4),
        ("HCM-03 at 5.0.2 is off, p = 1e-9 mbar, see 12.5 h", 1),
        ("Pump no. 3 failed, i.e. Valve 2 as well. Closed it.", 2),
        # The point of a German ordinal.
        ("Dichtung am 4. Juni ersetzt. Dicht.", 2),
        ("Schicht vom 2. M\u00e4rz: beim 3. Anlauf lief sie. Gut.", 2),
        ("Seit 4. Oktober l\u00e4uft die 2. Pumpe. Strahl da.", 2),
        ("Druck auf 5. Danach war Ruhe. It stood at 5. May we go?", 4),
        ("Fan swapped\nFilter cleaned\nDoor shut", 3),
        ("- first point\n- second point", 2),
        ("", 0),
        (" \n \n", 0),
    ],
)
def test_a_text_has_so_many_sentences(text: str, said: int) -> None:
    assert len(split(text)) == said


def test_lines_that_an_editor_broke_are_one_sentence() -> None:
    text = (
        "The licensee declared the pump inoperable after the oil level was found\n"
        "to be low, and entered a limiting condition of fourteen days. The cause\n"
        "was a leaking seal."
    )
    first, second = split(text)
    assert first.endswith("fourteen days.")
    assert second == "The cause\nwas a leaking seal."


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("*** UPDATE AT 1431 BY SHIPE ***", ["UPDATE AT 1431 BY SHIPE"]),
        ("* * * UPDATE * * * It was shut.", ["UPDATE * * * It was shut."]),
        ("======= Handover =======\nAll quiet.", ["Handover", "All quiet."]),
        ("Beam lost.\n_____\nReset.", ["Beam lost.", "Reset."]),
        ("- one point\n** two stars", ["- one point", "** two stars"]),
        ("*****", []),
    ],
)
def test_what_rules_a_text_off_is_no_part_of_a_sentence(text, said) -> None:
    assert split(text) == said


def test_a_sentence_without_end_is_cut_between_words() -> None:
    pieces = split("beam " * 200)
    assert len(pieces) > 2
    assert all(len(one) <= MAX_CHARACTERS for one in pieces)
    assert all(one.endswith("beam") for one in pieces)


@pytest.mark.parametrize("mark", [",", ";", ":", " -", " --", " \u2014"])
def test_a_long_sentence_is_cut_behind_a_clause_and_says_so(mark: str) -> None:
    clause = "the pump was stopped by the operator on shift then" * 3
    text = f"{clause}{mark} {clause} and so on in the next shift."
    (first, begun), (rest, goes_on) = (
        (text[start:end], goes_on) for start, end, goes_on in split_sentences(text)
    )
    assert (first, rest.startswith("the pump")) == (f"{clause}{mark}", True)
    assert (begun, goes_on) == (True, False)


def test_a_number_with_its_sign_heads_no_line() -> None:
    text = (
        "This will prevent the possibility of pressurizing the piping at\n"
        "#LP-20 and eliminate the potential for this problem."
    )
    assert split(text) == [text]
    assert len(split("# first point\n# second point")) == 2


@pytest.mark.requirement("B19")
@pytest.mark.parametrize("sign", [".", "?!", ".) ", '."'])
def test_a_row_of_dots_is_read_in_linear_time(sign: str) -> None:
    assert_linear(lambda text: list(split_sentences(text)), sign * 20_000)


@given(st.text(alphabet="aB .!?\n-1)\u00e4", max_size=400))
def test_sentences_stand_in_the_text_in_order_and_lose_nothing_but_blanks(text) -> None:
    spans = list(split_sentences(text))
    assert all(a.end <= b.start for a, b in itertools.pairwise(spans))
    kept = "".join(text[start:end] for start, end, _ in spans)
    assert "".join(kept.split()) == "".join(text.split())
