"""Wildcards as they are typed, and as the vocabulary is asked."""

import pytest

from shared.vocabulary import expand
from shared.vocabulary.expand import Pattern


def likes(text: str) -> list[str]:
    return [one.like for one in expand.make_name_patterns(text)]


@pytest.mark.parametrize(
    ("text", "language", "like", "low"),
    [
        ("injecti*", "en", "injecti%", "injecti"),
        ("Cav?ty", "en", "cav_ty", "cav"),
        ("*vity", "en", "%vity", ""),
        ("KÜHL*", "de", "kuhl%", "kuhl"),
        ("Kuehl*wasser", "de", "kuhl%wasser", "kuhl"),
        ("kuehl*", "en", "kuehl%", "kuehl"),
    ],
)
def test_words_are_folded_as_texts_are(text, language, like, low):
    found = expand.make_word_pattern(text, language)
    assert found is not None
    assert (found.like, found.low) == (like, low)
    assert found.high > found.low or not low


@pytest.mark.parametrize("text", ["*", "??", "", "*-*", "%*", "_?"])
def test_what_says_nothing_stands_for_nothing(text: str):
    assert expand.make_word_pattern(text, "en") is None
    assert expand.make_name_patterns(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SR:C??-RF*", ["sr:c__-rf%"]),
        ("HCM-0?", ["hcm-0_", "hcm0_"]),
        ("hcm *", ["hcm %", "hcm%"]),
        ("LOTO_2024_*", [r"loto\_2024\_%", "loto-2024-%"]),
        ("100%*", [r"100\%%"]),
        ("I:Beam*", ["i:beam%", "i::beam%"]),
        ("*:HCM3", ["%:hcm3"]),
    ],
)
def test_names_are_asked_for_in_each_way_they_are_kept(text, expected):
    assert likes(text) == expected


def test_a_range_holds_whatever_begins_so():
    assert expand.make_name_patterns("sr*") == [Pattern("sr%", "sr", "sr\U0010ffff")]
