"""The analyser keeps names whole, finds words by their stems, and always ends."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.text.analysis import analyser
from shared.text.analysis.analyser import Sections, analyse, plain_split
from shared.text.analysis.tokens import scan
from shared.text.words.languages import detect, parse_language_tag


def terms(text: str, language: str = "en") -> list[str]:
    return [token.term for token in scan(text, language)]


@pytest.mark.parametrize(
    "spelling", ["HCM03", "HCM3", "HCM 03", "HCM-03", "hcm3", "hcm_003"]
)
def test_every_spelling_of_a_device_is_one_token(spelling: str) -> None:
    assert terms(f"reset of {spelling}, then beam")[2:3] == ["hcm3"]


def test_a_device_typed_small_and_apart_is_found_by_its_name() -> None:
    assert "hcm3" in analyse(Sections(text="swapped hcm 03 today"), "en").idents


@pytest.mark.parametrize("spelling", ["BL 5.0.2", "BL5.0.2", "BL-5.0.2", "bl5.0.2"])
def test_every_spelling_of_a_beamline_is_one_token(spelling: str) -> None:
    assert terms(f"shutter of {spelling} closed") == [
        "shutter",
        "of",
        "bl5.0.2",
        "close",
    ]


@pytest.mark.parametrize(
    ("text", "token", "some_idents"),
    [
        ("SR:C01-RF:Trip", "sr:c01-rf:trip", {"sr:c01-rf", "c01", "c1", "rf", "trip"}),
        ("SR:C03-VA:HCM2", "sr:c03-va:hcm2", {"sr:c03", "hcm2", "va"}),
        ("LOTO-2024-0312", "loto-2024-0312", {"0312", "2024", "loto"}),
        ("IP14", "ip14", {"ip", "14"}),
        ("MAG{Q1}:I-SP", "mag{q1}:i-sp", {"q1", "sp", "mag"}),
    ],
)
def test_a_name_is_one_token_and_found_by_its_parts(text, token, some_idents) -> None:
    analysis = analyse(Sections(text=f"see {text}."), "en")
    assert analysis.stream == f"see {token}"
    assert some_idents <= set(analysis.idents)


def test_a_near_miss_number_is_another_name() -> None:
    idents = analyse(Sections(text="HCM04 and LOTO-2024-0312"), "en").idents
    assert not {"hcm3", "hcm03", "loto-2024-0313"} & set(idents)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("500mA", ["500", "ma"]),
        ("500 mA", ["500", "ma"]),
        ("2e-7 Torr", ["2e-7", "torr"]),
        ("RF 500 MHz", ["rf", "500", "mhz"]),
        ("beam down again, not on", ["beam", "down", "again", "not", "on"]),
        ("note:see", ["note", "see"]),
        ("HCM03.The", ["hcm3", "the"]),
        ("the beam\u2019s cavity's", ["the", "beam", "caviti"]),
        ("L'aimant", ["l", "aimant"]),
        ("真空漏れ", ["真空", "空漏", "漏れ"]),
        ("BPM012故障", ["bpm12", "故障"]),
        ("電流500mA低下", ["電流", "500", "ma", "低下"]),
        ("ｶﾞｽ漏れ", ["ガス", "ス漏", "漏れ"]),
        ("BPM012ｸﾗｲ", ["bpm12", "クラ", "ライ"]),
        ("ﾊﾟ", ["パ"]),
        ("ca\u200bvities", ["caviti"]),
        ("\u200b \u202e _ -- {}", []),
    ],
)
def test_text_becomes_these_tokens(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


def test_accents_and_case_do_not_matter() -> None:
    german = [
        "Kühlwasserausfälle",
        "Ku\u0308hlwasserausfa\u0308lle",
        "KÜHLWASSERAUSFÄLLE",
    ]
    assert len({terms(word, "de")[0] for word in german}) == 1
    assert terms("défaut", "fr") == terms("defaut", "fr")


def test_tokens_stand_where_the_text_has_them() -> None:
    text = "Ärger: HCM 03 trips, 500mA 真空"
    spans = [text[token.start : token.end] for token in scan(text, "en")]
    assert spans == ["Ärger", "HCM 03", "trips", "500", "mA", "真空"]


@pytest.mark.parametrize(
    ("half", "full"), [("ｸﾗｲｽﾄﾛﾝ", "クライストロン"), ("ｹﾞｰｼﾞ", "ゲージ")]
)
def test_kana_of_half_width_is_found_as_of_full_width(half: str, full: str) -> None:
    assert terms(half) == terms(full)
    places = [(token.start, token.end) for token in scan(half, "ja")]
    assert (places[0][0], places[-1][1]) == (0, len(half))


@pytest.mark.parametrize(
    "words",
    [
        "lost lose loses losing",
        "broke broken break breaking",
        "stuck sticks sticking",
        "froze frozen freezes",
        "mouse mice",
        "lens lenses",
        "axis axes",
        "spectrum spectra",
        "fibre fiber fibres fibers",
        "centre centred center centered",
        "colour color coloured colored",
        "vapour vapor vapours",
        "analogue analog",
        "aluminium aluminum",
        "initialise initialize initialised initialization",
        "ionise ionizing ionisation",
        "analyse analyzed analysis",
    ],
)
def test_the_forms_and_spellings_of_an_english_word_are_one_term(words: str) -> None:
    assert len(set(terms(words))) == 1
    # `Broken` is no such word where another language is written.
    assert len(set(terms(words, "de"))) > 1


@pytest.mark.parametrize(
    "words",
    ["raise raises raised raising", "promise promised promising", "noise noises"],
)
def test_what_only_looks_spelt_in_two_ways_keeps_its_forms(words: str) -> None:
    assert len(set(terms(words))) == 1


def test_sections_are_lines_a_hundred_positions_apart() -> None:
    analysis = analyse(
        Sections("Beam lost", "RF trip", tags=["rf"], authors=["J. Ruiz"]), "en"
    )
    assert analysis.stream == "beam lose\nrf trip\nrf\nj ruiz"
    assert "'lose':2 'rf':103,205 'trip':104 'j':306" in analysis.tsvector_literal


def test_a_word_keeps_255_positions_and_leaves_fillers() -> None:
    analysis = analyse(Sections(text="beam " * 300 + "trip"), "en")
    words = analysis.stream.split(" ")
    assert words.count("beam") == 255
    assert words.count(analyser.FILLER) == 45
    assert "'trip':301" in analysis.tsvector_literal


def test_late_words_are_found_but_make_no_phrase() -> None:
    text = " ".join(f"w{i} x" for i in range(8000)) + " last word"
    analysis = analyse(Sections(text=text), "en")
    assert analysis.stream.endswith("\nlast\nword")
    assert " 'last' 'word' " in analysis.tsvector_literal
    positions = [int(n) for n in re.findall(r"[:,](\d+)", analysis.tsvector_literal)]
    assert max(positions) <= 16_383


def test_a_text_beyond_what_postgres_takes_is_cut_and_says_so(monkeypatch) -> None:
    monkeypatch.setattr(analyser, "MAX_LEXEME_BYTES", 9_000)
    words = [f"{first}{second}" for first in "abcdefgh" for second in range(10_000)]
    analysis = analyse(Sections(text=" ".join(words)), "en")
    assert analysis.cut
    assert len(" ".join(analysis.idents).encode()) <= 9_000
    assert not analyse(Sections(text="beam " * 1000), "en").cut


@pytest.mark.parametrize(
    "text",
    [
        "a" * 1_000_000,
        "e" + "\u0301" * 10_000,
        "\n" * 100_000,
        "a" * 50_000 + "!",
        "a-" * 20_000,
        "a:" * 20_000,
        "1." * 20_000,
        "_" * 100_000,
        "bl1.1.1" * 10_000,
        "{" * 50_000,
    ],
    ids=lambda text: f"{text[:3]!r} x {len(text)}",
)
def test_hostile_texts_are_analysed_into_short_tokens(text: str) -> None:
    analysis = analyse(Sections(text=text), "en")
    assert all(len(word) <= 128 for word in analysis.stream.split())
    assert not analysis.cut


@given(st.text(), st.sampled_from(["en", "de", "fr", "it", "es", "ja", "unknown"]))
def test_any_text_gives_terms_without_space_inside_their_text(text, language) -> None:
    ends = 0
    for token in scan(text, language):
        assert ends <= token.end
        assert 0 <= token.start < token.end <= len(text)
        ends = token.start
        for one in (token.term, *token.idents):
            assert one
            assert not re.search(r"\s", one)
            assert len(one) <= 128


@given(st.text())
def test_the_plain_split_is_total_and_says_what_it_is(text: str) -> None:
    analysis = plain_split(Sections(text=text))
    assert analysis.plain
    assert not analysis.idents


@pytest.mark.parametrize(
    ("tag", "language"),
    [("de", "de"), ("de-CH", "de"), ("EN_us", "en"), ("und", None), ("German", None)],
)
def test_a_language_that_the_source_says_is_read_from_its_tag(tag, language) -> None:
    assert parse_language_tag(tag) == language
    assert parse_language_tag(None) is None


@pytest.mark.parametrize(
    ("text", "expected", "language"),
    [
        ("Beam tripped", None, "en"),
        ("Pompa da vuoto", "it", "it"),
        ("Kühlwasser ausgefallen am Klystron 3", "en", "de"),
        ("La pompa ionica della camera da vuoto si è spenta", "en", "it"),
        ("Le faisceau est perdu depuis ce matin", "en", "fr"),
        ("Se perdió el vacío en la cámara principal", "en", "es"),
        ("RF cavity 2 tripped, reset done and back at 500 mA", "de", "en"),
        ("SR:C03-VA:HCM2 HCM03", "de", "de"),
        ("真空漏れが発生", "en", "ja"),
        ("真空ｹﾞｰｼﾞ", "en", "ja"),
        ("Вакуум потерян ночью", "en", "unknown"),
        ("", "fr", "fr"),
        ("12345 ---", None, "en"),
    ],
)
def test_the_language_is_told_or_the_expected_one_stands(text, expected, language):
    assert detect(text, expected) == language
