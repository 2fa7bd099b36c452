"""`logchord tokens`: what becomes of a text, for people and for programs."""

import json

import pytest

from tests.support.typed import ending

pytestmark = pytest.mark.usefixtures("folder")


def test_each_position_is_shown_with_its_reason(capsys):
    assert ending("tokens", "HCM", "03", "tripped") == 0
    printed = capsys.readouterr().out
    assert "1 hcm3  device, written 'HCM 03'" in printed
    assert "2 trip  word, written 'tripped'" in printed
    assert "its stem in en" in printed


def test_a_program_gets_places_and_the_analyser_s_version(capsys):
    assert ending("tokens", "--json", "--language", "de", "der Kühlwasserausfall") == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["language"] == "de"
    assert printed["analyser_version"] > 0
    word = printed["tokens"][1]
    assert (word["start"], word["end"], word["kind"]) == (4, 21, "word")
    assert "kuhlwasser" in word["idents"]


def test_a_text_of_nothing_says_so(capsys):
    assert ending("tokens", "...") == 0
    assert "nothing" in capsys.readouterr().out


def test_the_facility_s_file_counts_and_a_broken_one_is_named(
    folder, capsys, monkeypatch
):
    file = folder / "facility.yaml"
    file.write_text("names:\n  - {kind: permit, pattern: 'RSR[ -]*[0-9]+'}\n")
    monkeypatch.setenv("LOGCHORD_ANALYSER__FACILITY_FILE", str(file))
    assert ending("tokens", "RSR 12") == 0
    assert "permit" in capsys.readouterr().out
    file.write_text("names: 3\n")
    assert ending("tokens", "RSR 12") == 2
    assert "names" in capsys.readouterr().err
