"""Names by a facility's own file, and times that are taken for none."""

from pathlib import Path

import pytest

from shared.errors import ConfigurationError
from shared.text import facts
from shared.text.analysis.analyser import Sections, analyse, version_of
from shared.text.analysis.tokens import scan
from shared.text.facility import facility
from shared.text.facility.facility import PLAIN
from shared.text.words import identifiers
from shared.text.words.character_runs import Token
from tests.support.asked import clauses
from tests.support.linear_cost import assert_linear

FILE = r"""
names:
  - kind: permit
    pattern: '\bRSR[ #-]*\d{2,6}\b'
    ignore_zeros: true
  - kind: station
    pattern: '\bhutch \d{1,2}[A-Z]?\b'
not_names: [rack]
compound_parts: [Kontamination]
glossary:
  - [BPM, beam position monitor]
  - [klystron, tube]
"""


@pytest.fixture
def own(tmp_path: Path) -> facility.Facility:
    path = tmp_path / "facility.yaml"
    path.write_text(FILE, "utf-8")
    return facility.load(path)


def read(
    text: str, own: facility.Facility = PLAIN, language: str = "en"
) -> list[Token]:
    return list(scan(text, language, own))


def terms(text: str) -> list[str]:
    return [token.term for token in read(text)]


def test_words_of_incidents_have_no_entry_read_anew(tmp_path, own) -> None:
    path = tmp_path / "more.yaml"
    path.write_text(f"{FILE}incidents:\n  restored: [shutter .. green]\n", "utf-8")
    found = facility.load(path)
    assert found.incidents == (("restored", ("shutter .. green",)),)
    assert found.fingerprint == own.fingerprint
    assert found.facts_fingerprint == own.facts_fingerprint
    assert found.whole_fingerprint == own.whole_fingerprint
    for wrong in ("fixed: [green]", "restored: ['(']"):
        path.write_text(f"incidents: {{{wrong}}}\n", "utf-8")
        with pytest.raises(ConfigurationError, match="incidents"):
            facility.load(path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("at 12:30 beam lost", ["at", "12:30", "beam", "lose"]),
        ("06:45-07:15", ["06:45", "07:15"]),
        ("6:45", ["06:45"]),
        ("2:05pm", ["14:05"]),
        ("12:05am", ["00:05"]),
        ("2024-03-12T05:10:00Z", ["2024-03-12", "05:10:00"]),
        ("12.03.2024", ["2024-03-12"]),
        ("12-Mar-2024", ["2024-03-12"]),
        ("12-Mai-24", ["2024-05-12"]),
        ("Mar-12", ["mar-12"]),
        ("2024-03-12", ["2024-03-12"]),
        ("RF 12:30", ["rf", "12:30"]),
        ("OWL 0630", ["owl", "0630"]),
        ("RF 0730 back", ["rf", "0730", "back"]),
        ("LINAC 0545 restored", ["linac", "0545", "restor"]),
        ("MC 0215, vault entry", ["mc", "0215", "vault", "entri"]),
        ("SR 1430 dump", ["sr", "1430", "dump"]),
        ("CR 2300 - beam back", ["cr", "2300", "beam", "back"]),
        ("UPDATE 1346 EST", ["updat", "1346", "est"]),
        ("UPDATE 1134 5/13/99", ["updat", "1134", "5", "13", "99"]),
        ("RF 0730-0745 off", ["rf", "0730", "0745", "off"]),
        ("VAC 1430 hrs", ["vac", "1430", "hrs"]),
    ],
)
def test_a_time_is_one_term_and_no_name(text: str, expected: list[str]) -> None:
    found = read(text)
    assert [token.term for token in found] == expected
    assert not any(token.is_name for token in found)


@pytest.mark.parametrize(
    ("text", "clock"),
    [
        ("0730", "07:30"),
        ("0730 hrs", "07:30"),
        ("0000", "00:00"),
        ("1430 hrs.", "14:30"),
        ("1430h", "14:30"),
        ("1430 Uhr", "14:30"),
        ("1430 [HOURS]", "14:30"),
        ("2400 hrs", "24:00"),
        ("0730's", "07:30"),
    ],
)
def test_four_digits_that_are_surely_a_time_are_one(text: str, clock: str) -> None:
    first = read(text)[0]
    assert (first.kind, first.term) == ("time", clock.replace(":", ""))
    assert clock in first.idents


@pytest.mark.parametrize(
    "text",
    ["1430", "at 1430", "2460 hrs", "0760", "0730.5", "0730 2430 hrs", "500 hrs"],
)
def test_other_digits_are_numbers(text: str) -> None:
    assert read(text)[-1 if "hrs" not in text else -2].kind is None


@pytest.mark.parametrize(
    ("text", "term"),
    [
        # Numbers of papers and units, as real logbooks have them, and years.
        ("NUREG 1022 allows credit", "nureg1022"),
        ("PDCR 1550 was to replace", "pdcr1550"),
        ("XCOR 1202 tripped", "xcor1202"),
        ("CR 2024 - plan", "cr2024"),
        ("CR 2024 plan", "cr2024"),
        ("SR 1430", "sr1430"),
        ("HCM 0075 off", "hcm75"),
        ("CODE 2262 fuel", "code2262"),
    ],
)
def test_four_digits_that_may_be_a_name_s_are(text: str, term: str) -> None:
    first = read(text)[0]
    assert (first.kind, first.term) == ("device", term)


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("I-131 released", "i131"),
        ("Cs-137 source found", "cs137"),
        ("CESIUM-137 gauge", "cesium137"),
        ("Tc-99m dose", "tc99m"),
        ("Sm-153 dose", "sm153"),
        ("Ag-110m found", "ag110m"),
        ("Po-210 source", "po210"),
        ("CADMIUM-109 foil", "cadmium109"),
        ("nickel-63 source", "nickel63"),
        ("Kobalt-60 Quelle", "kobalt60"),
        ("SF6 pressure", "sf6"),
        ("CO2 alarm", "co2"),
    ],
)
def test_a_substance_is_a_name_and_no_device(text: str, term: str) -> None:
    first = read(text)[0]
    assert (first.kind, first.term, first.is_name) == ("substance", term, True)


@pytest.mark.parametrize(
    "name",
    [
        *("P-32", "C-14", "I-13", "CO-61", "CS-1370", "SM-153", "Sm-15", "Sm-153A"),
        *("Mg-2", "TIN-112", "Iron-5", "Unit-60"),
    ],
)
def test_what_is_numbered_as_no_known_substance_is_is_a_device(name: str) -> None:
    assert read(f"{name} tripped")[0].kind == "device"


@pytest.mark.parametrize(
    ("text", "questions"),
    [
        ("RF 0730 back", ("RF 0730", "RF0730", "rf 730", "0730", "07:30", '"0730"')),
        ("SR 1430 dump", ("SR 1430", "SR1430", "1430", "14:30", "SR 1430 dump")),
        ("RF0730 off", ("RF 0730", "rf 0730", "0730")),
        ("SR-1430 dump", ("SR 1430 dump",)),
        ("RF at 07:30", ("RF 0730", "0730")),
    ],
)
def test_a_time_is_found_by_the_name_that_it_may_be(text, questions) -> None:
    analysis = analyse(Sections(text=text), "en")
    kept = {*analysis.stream.split(), *analysis.idents}
    for question in questions:
        for clause in clauses(question):
            assert kept & {*clause.lexemes, *clause.idents}, question


@pytest.mark.parametrize(
    ("text", "ident"),
    [
        ("05:10:33", "05:10"),
        ("12.03.2024", "12.03.2024"),
        ("12:30", "30"),
        ("12-Mar-2024", "mar"),
    ],
)
def test_a_time_is_found_by_its_parts(text: str, ident: str) -> None:
    assert ident in read(text)[0].idents


def test_a_time_is_no_name_that_must_be_there() -> None:
    (clause,) = clauses("12:30")
    assert (clause.lexemes, clause.is_exact) == (("12:30",), False)


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("LOTO-2024-0312", "loto-2024-0312"),
        ("LOTO 2024-0312 open", "loto-2024-0312"),
        ("loto_2024_0312", "loto-2024-0312"),
        ("BL\u00a05.0.2", "bl5.0.2"),
        ("\uff28\uff23\uff2d\uff10\uff13", "hcm3"),
        ("HCM\t03", "hcm3"),
        ("(HCM 03)", "hcm3"),
        ("QF/HCM 03, reset", "hcm3"),
        # No ident of another name is spelt so.
        ("I:VTARG1", "i::vtarg1"),
    ],
)
def test_a_name_is_known_however_it_stands(text: str, term: str) -> None:
    assert term in terms(text)


NAMES = (
    *("HCM03", "HCM 03", "HCM-03", "LOTO-2024-0312", "LOTO 2024-0312", "BL5.0.2"),
    *("BL 5.0.2", "SR:C01-RF:Trip", "MAG{Q1}:I-SP", "x:SR:Trip", "12:30", "500mA"),
)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("ending", ["'s", "\u2019s", "\u02bcs", "\uff07s", "'S", "'ll"])
def test_a_name_is_the_same_with_a_possessive(name: str, ending: str) -> None:
    bare = read(f"see {name} trip")
    assert [
        (token.term, token.kind, token.idents)
        for token in read(f"see {name}{ending} trip")
    ] == [(token.term, token.kind, token.idents) for token in bare]
    assert terms(f"({name}{ending})") == terms(f"({name})")


def test_a_possessive_is_no_part_of_where_a_name_stands() -> None:
    text = "HCM03's and HCM 04\u2019s trips, the pump's seal"
    spans = [text[token.start : token.end] for token in read(text)]
    assert spans == ["HCM03", "and", "HCM 04", "trips", "the", "pump's", "seal"]


def test_a_sign_that_a_pattern_of_the_facility_lets_in_stays_in_its_lexeme(tmp_path):
    file = tmp_path / "facility.yaml"
    file.write_text("names: [{kind: rack, pattern: 'rack \\w+'}]\n", "utf-8")
    analysis = analyse(
        Sections(text="in rack a\u02bcb, off"), "en", facility.load(file)
    )
    assert "rack-a'b" in analysis.stream
    assert analysis.tsvector_literal.startswith("'in':1 'rack-a''b':2 'off':3 ")
    assert "'i:a''b'" in analysis.tsvector_literal


@pytest.mark.parametrize(
    "text",
    [
        "RF 500 MHz",
        "RF 50 %",
        "HCM\n03",
        "HCM  03",
        "HCM 03.5",
        "HCM 2024-03-12",
        "AT 3",
    ],
)
def test_a_quantity_or_a_gap_makes_no_name(text: str) -> None:
    assert not any(token.is_name for token in read(text))


def test_a_range_is_no_document_number() -> None:
    assert terms("BPM 3-10") == ["bpm", "3", "10"]


def test_a_word_in_capitals_before_a_number_is_still_found_as_a_word() -> None:
    (token,) = read("CHANGE 2")
    assert {"change", "chang"} <= set(token.idents)


@pytest.mark.parametrize(
    ("text", "kind", "term"),
    [
        ("lifted RSR 0312 today", "permit", "rsr-312"),
        ("lifted rsr#312", "permit", "rsr-312"),
        ("in Hutch 4B", "station", "hutch-4-b"),
    ],
)
def test_a_pattern_of_the_facility_makes_one_term(own, text, kind, term) -> None:
    named = [token for token in read(text, own) if token.is_name]
    assert [(token.kind, token.term) for token in named] == [(kind, term)]
    assert text[named[0].start : named[0].end] in text


def test_patterns_leave_the_words_around_them_in_their_places(own) -> None:
    text = "see RSR 12, hutch 3 and HCM 03."
    spans = [text[token.start : token.end] for token in read(text, own)]
    assert spans == ["see", "RSR 12", "hutch 3", "and", "HCM 03"]


def test_a_word_that_begins_no_name_here_does_not(own: facility.Facility) -> None:
    assert read("RACK 12")[0].is_name
    assert not read("RACK 12", own)[0].is_name


def test_the_facility_s_own_parts_open_its_compounds(own: facility.Facility) -> None:
    word = "Kontaminationsgefahr"
    assert "kontamination" in read(word, own, "de")[0].idents


def test_a_form_of_the_glossary_is_or_ed_with_its_term(own: facility.Facility) -> None:
    (clause,) = clauses("BPM", facility=own)
    assert clause.also == (("beam", "posit", "monitor"),)
    words = clauses("broken beam position monitors", facility=own)
    assert [clause.also for clause in words] == [(), *[(("bpm",),)] * 3]
    assert all("bpm" in clause.idents for clause in words[1:])


def test_the_glossary_keeps_out_of_quotes_and_negations(own: facility.Facility) -> None:
    assert clauses('"BPM"', facility=own)[0].also == ()
    assert clauses("beam -klystron", facility=own, wanted=False)[0].also == ()


def test_another_file_is_another_analyser(own, tmp_path) -> None:
    words = tmp_path / "words.yaml"
    words.write_text("glossary:\n  - [a, b]\n", "utf-8")
    empty = tmp_path / "empty.yaml"
    empty.write_text("", "utf-8")
    assert version_of(own) != version_of(PLAIN)
    assert 0 < version_of(own) < 2**31
    # What a question means does not change what a text comes to.
    assert version_of(facility.load(words)) == version_of(facility.load(empty))


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("names:\n  - {kind: x, pattern: '('}", "no regular expression"),
        ("names:\n  - {kind: x, pattern: 'a*'}", "matches nothing at all"),
        ("names:\n  - {kind: X Y, pattern: 'a'}", "names.0.kind"),
        ("nmaes: []", "nmaes"),
        ("[", "cannot be used"),
        ("- 1", "valid"),
    ],
)
def test_a_file_that_says_nonsense_is_refused(tmp_path, said, told) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text(said, "utf-8")
    with pytest.raises(ConfigurationError, match=told):
        facility.load(path)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError):
        facility.load(tmp_path / "none.yaml")
    assert facility.load(None) is PLAIN


def test_two_of_the_facility_s_forms_are_one_entry_s_ident(own) -> None:
    analysis = analyse(Sections(text="RSR 0312"), "en", own)
    assert analysis.stream == "rsr-312"
    assert {"rsr", "0312", "312", "rsr0312"} <= set(analysis.idents)


HYPHENS = ("\u2010", "\u2011", "\u2012", "\u2013", "\u2014", "\u2015", "\u2212")
HYPHENATED = ("HCM-03", "LOTO-2024-0312", "SR01C-BPM2", "SR:C01-RF:Trip2", "BPM-0123")


@pytest.mark.parametrize("name", HYPHENATED)
@pytest.mark.parametrize("hyphen", HYPHENS)
def test_a_name_is_the_same_with_any_hyphen(name: str, hyphen: str) -> None:
    text, other = f"after {name}, trip", f"after {name}, trip".replace("-", hyphen)
    assert read(other) == read(text)
    # A question and a filter are read as entries are.
    assert clauses(other) == clauses(text)
    assert facts.make_term("device", name.replace("-", hyphen)) == facts.make_term(
        "device", name
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Two devices, a range, a change of thought, and what has a unit.
        ("BPM1\u2013BPM4", ["bpm1", "bpm4"]),
        ("RF 500\u2013510", ["rf500", "510"]),
        ("beam\u20142 hours", ["beam", "2", "hour"]),
        ("lost\u2014RF3 trip", ["lose", "rf3", "trip"]),
        ("RF\u2013500 MHz", ["rf", "500", "mhz"]),
        ("A\u22125 V", ["a", "5", "v"]),
        ("RF \u2013 3", ["rf", "3"]),
        ("-HCM \u201103", ["hcm", "03"]),
    ],
)
def test_a_dash_that_joins_no_name_parts_words(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


def test_a_name_goes_on_behind_a_thin_blank() -> None:
    assert terms("HCM\u200903 and HCM\u202f04") == ["hcm3", "and", "hcm4"]


@pytest.mark.parametrize("piece", ["A", "A\u2013", "A.b", "a\u2011", "A\u2013\u2013"])
def test_a_text_of_nothing_but_dashes_is_read_in_time(piece: str) -> None:
    def read(text: str) -> None:
        assert len(identifiers.normalise_hyphens(text)) == len(text)

    assert_linear(read, piece * (300_000 // len(piece)) + "\u2013")
