"""What an entry is about: sentences and words of its own, and nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.enrich import digest
from shared.enrich.digest import Digest
from shared.stages.stage_contract import NoOptions, StageInput
from shared.text.analysis.analyser import Sections, analyse
from shared.text.facility.facility import PLAIN
from tests.support.linear_cost import assert_linear

REPORT = """\
Klystron 3 tripped at 04:12 and the linac went down with it.
The shift looked at the modulator and the water. The flow was fine. Coffee was made.
The klystron window showed a pressure burst in the minute before the trip, as it did
last week, so we conditioned the klystron up from half power while RF was called.
At 05:30 the linac was back with beam. The window pressure is watched now: should the
klystron trip again, the spare will be put in on Tuesday, said the head of RF.
"""


def digest_of(text: str, title: str = "", language: str | None = "en") -> Digest | None:
    fields = {"text": text, "title": title, "language": language}
    return next(iter(digest.find(StageInput(fields, NoOptions(), PLAIN))), None)


def plain(text: str) -> str:
    return " ".join(text.split())


def test_a_report_is_about_what_it_says_most_of():
    found = digest_of(REPORT, title="Klystron trip")
    assert found is not None
    assert found.keywords[0].lower().startswith("klystron")
    assert len(found.keywords) <= digest.MAX_KEYWORDS
    assert not {"the", "was"} & {one.lower() for one in found.keywords}
    assert found.summary is not None
    assert "klystron" in found.summary.lower()
    assert "Coffee" not in found.summary


def test_a_full_line_does_not_end_a_sentence_and_a_short_one_does():
    found = digest_of(REPORT)
    assert found is not None
    assert found.summary is not None
    for sentence in found.summary.split(". "):
        assert sentence in plain(REPORT)
    assert found.summary.endswith((".", "power while RF was called"))


@pytest.mark.parametrize(
    ("text", "has_summary", "has_keywords"),
    [
        pytest.param("", False, False, id="empty"),
        pytest.param("Beam lost.", False, False, id="few-words"),
        pytest.param(REPORT[: digest.MIN_CHARS - 1], False, True, id="just-too-short"),
        pytest.param(REPORT[: digest.MIN_CHARS], True, True, id="just-long-enough"),
        pytest.param("1.25 " * 200, False, False, id="numbers"),
        pytest.param("wort" * 2000, False, False, id="one-word"),
    ],
)
def test_what_is_short_is_its_own_summary(text, has_summary, has_keywords):
    found = digest_of(text)
    assert bool(found and found.summary) is has_summary
    assert bool(found and found.keywords) is has_keywords


@pytest.mark.parametrize(
    ("language", "text", "common"),
    [
        pytest.param(
            "de",
            "Die Kühlung der Spule ist nicht in Ordnung, das Wasser wurde gesperrt und"
            " die Pumpe wurde von der Schicht für die Spule wieder eingeschaltet.",
            {"die", "der", "nicht", "für", "wurde"},
            id="german",
        ),
        pytest.param(
            "fr",
            "La pompe de la ligne est en panne, les vannes ont été fermées par l'équipe"
            " et la pompe sera changée avec les joints de la ligne.",
            {"les", "avec", "par", "été"},
            id="french",
        ),
    ],
)
def test_the_small_words_of_a_language_are_no_keywords(language, text, common):
    found = digest_of(text, language=language)
    assert found is not None
    words = {word.lower() for one in found.keywords for word in one.split()}
    assert words
    assert not words & common


WORDS = st.sampled_from(
    [
        *("klystron", "trip", "the", "vacuum", "HCM03", "SR:C01:BI", "water", "2.5 mA"),
        *(". ", "\n", "\n\n", ", ", "- ", "Ventil", "ü", "真空", "\U0001f600", "'"),
    ]
)


@given(st.lists(WORDS | st.text(max_size=8), max_size=200).map(" ".join))
def test_an_extract_says_nothing_that_the_text_does_not(text):
    found = digest_of(text)
    assert found == digest_of(text)
    if found is None:
        return
    whole = plain(text)
    assert all(plain(one) in whole for one in found.keywords)
    assert len(found.keywords) == len(set(found.keywords)) <= digest.MAX_KEYWORDS
    assert len(found.summary or "") <= digest.MAX_SUMMARY_CHARS


def test_what_stands_in_an_extract_is_found_by_the_text_it_is_of():
    found = digest_of(REPORT)
    assert found is not None
    known = {*analyse(Sections(text=REPORT), "en").stream.split()}
    extract = f"{found.summary}\n" + "\n".join(found.keywords)
    assert {*analyse(Sections(text=extract), "en").stream.split()} <= known


@pytest.mark.parametrize(
    "piece",
    [
        pytest.param("klystron tripped ", id="words"),
        pytest.param("A. ", id="sentences"),
        pytest.param("\n", id="lines"),
        pytest.param("HCM03 ", id="names"),
        pytest.param("ab", id="one-word"),
    ],
)
def test_a_text_of_a_megabyte_is_read_in_linear_time(piece):
    assert_linear(digest_of, piece * (1_000_000 // len(piece)))
