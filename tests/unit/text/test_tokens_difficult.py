"""Twenty names that are hard to read, as `logchord tokens` shows them, and why."""

import json

import pytest

from tests.support.typed import ending

pytestmark = pytest.mark.usefixtures("folder")

DEVICE = "a device: every spelling of it is this term"
BEAMLINE = "a beamline: every spelling of it is this term"
PV = "a process variable: one term, found by its parts and beginnings, too"
DOCUMENT = "a number with letters: one term whose zeros count"
TIME = "a time of day, and no name"
DATE = "a date, and no name"
NUMBER = "a number, apart from its unit"
MAYBE = "with the word before it may be the name "

# The text, its terms with the kinds of those that are no words, one reason, what else
# it is found by; then the language, if it is not English.
ROWS: tuple[tuple[str, ...], ...] = (
    # A possessive is no part of a name, whichever apostrophe it has.
    ("HCM03's trip", "hcm3:device trip", DEVICE, "hcm03"),
    ("HCM-03\u2019s trip", "hcm3:device trip", DEVICE, "3"),
    # Wide letters and a blank that does not break only look different.
    ("\uff28\uff23\uff2d\uff10\uff13", "hcm3:device", DEVICE, "hcm"),
    ("HCM\u00a003", "hcm3:device", DEVICE, "hcm03"),
    # Typed small, it may be words, so it is both.
    ("hcm 03", "hcm 03", f"{MAYBE}hcm3", "hcm3"),
    # Two blanks, as in a table: nobody knows that the columns belong together.
    ("HCM  03", "hcm 03", NUMBER, ""),
    # `#` counts for a number of something; a facility's file may say otherwise.
    ("HCM#03", "hcm 03", NUMBER, ""),
    # Behind a slash stands a number alone: `HCM03/04` may be a ratio or a page.
    ("HCM03/04", "hcm3:device 04", DEVICE, "hcm3"),
    # With a dash it is one number with letters, found by its beginning.
    ("HCM03-05", "hcm03-05:document", DOCUMENT, "hcm3"),
    # Times behind capitals are times, and found by the name that they may be.
    ("CR 2300 - beam back", "cr 2300:time beam back", TIME, "23:00"),
    ("RF 0730 back", "rf 0730:time back", TIME, "rf730"),
    # On a clock, too, but more likely a paper's number.
    ("NUREG 1022 allows", "nureg1022:device allow", DEVICE, "1022"),
    # With slashes day and month are anybody's guess.
    ("2024/06/03", "2024 06 03", NUMBER, ""),
    ("2024-06-03 2:05pm", "2024-06-03:date 14:05:time", DATE, "14:05"),
    ("SR:C01-RF:Trip's alarm", "sr:c01-rf:trip:pv alarm", PV, "sr:c01-rf"),
    ("SR:C01-MG{Quad:QH1}I-SP", "sr:c01-mg{quad:qh1}i-sp:pv", PV, "qh1"),
    # A lexeme `i:...` is an ident in Postgres, so this one has a colon more.
    ("I:VTARG1", "i::vtarg1:pv", PV, "vtarg1"),
    ("BL 5.0.2's shutter", "bl5.0.2:beamline shutter", BEAMLINE, "5.0.2"),
    ("at Beamline 5.0.2.", "at bl5.0.2:beamline", BEAMLINE, "beamline"),
    ("LOTO-2024-0312\u2019s", "loto-2024-0312:document", DOCUMENT, "0312"),
    ("loto_2024_0312", "loto-2024-0312:document", DOCUMENT, "loto-2024"),
    # No blank parts a name from what is said of it.
    ("BPM012\u6545\u969c", "bpm12:device \u6545\u969c", DEVICE, "bpm012"),
    ("HCM03-Ausfall", "hcm3:device ausfall", DEVICE, "hcm03", "de"),
    (
        "Undulator-ID12-Kühlwasser",
        "undulator id12:device kuhlwass",
        "a compound, found by its parts, too",
        "wasser",
        "de",
    ),
    # Words with a number behind them are no name.
    ("post-shutdown-2", "post shutdown 2", NUMBER, ""),
)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: ascii(row[0]))
def test_a_difficult_name_becomes_these_terms_for_this_reason(row, capsys) -> None:
    text, terms, why, ident, *language = row
    said = (language or ["en"])[0]
    assert ending("tokens", "--json", "--language", said, text) == 0
    tokens = json.loads(capsys.readouterr().out)["tokens"]
    shown = [
        token["term"] if token["kind"] == "word" else f"{token['term']}:{token['kind']}"
        for token in tokens
    ]
    assert " ".join(shown) == terms
    assert why in [reason for token in tokens for reason in token["why"]]
    assert {ident} - {""} <= {one for token in tokens for one in token["idents"]}


def test_twenty_of_them_are_shown() -> None:
    assert len({row[0] for row in ROWS}) >= 20
