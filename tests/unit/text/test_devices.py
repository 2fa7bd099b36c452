"""Which devices an entry is about: by a list, by a form, by the likes beside them."""

from pathlib import Path
from typing import Any

import pytest

from shared.enrich import entry_facts as enrich
from shared.entries.reading.read_entries import Content
from shared.text.analysis.analyser import Sections, analyse
from shared.text.facility import facility
from shared.text.facility.facility import PLAIN, Facility
from shared.text.facts import Fact, make_key
from tests.unit.times.test_event_time import CONTENT

LIST = "things: things.csv\n"
THINGS = "name,kind,system,aliases\nBPM 0123,device,,\nHCM-03,device,Magnets,\n"
FORM = "names: [{kind: device, pattern: '\\bBPM[ -]?\\d{4}\\b'}]\n"


def made(tmp_path: Path, said: str) -> Facility:
    (tmp_path / "things.csv").write_text(THINGS, "utf-8")
    path = tmp_path / "facility.yaml"
    path.write_text(said, "utf-8")
    return facility.load(path)


def devices(text: str, own: Facility = PLAIN, **said: Any) -> list[Fact]:
    content = Content(**{**CONTENT, "text": text, **said})
    names = analyse(Sections(text=text), "en", own).names
    found = enrich.find(content, text, names, "en", own).facts
    return [fact for fact in found if fact.field == "device"]


def keys(text: str, own: Facility = PLAIN) -> list[str]:
    return [make_key("device", one.value) for one in devices(text, own)]


def test_a_substance_is_none_of_the_devices_that_are_counted() -> None:
    assert keys("I-131, Cs-137 and CO2 at RM-14 and P-32") == ["rm 14", "p 32"]


@pytest.mark.parametrize("said", [LIST, FORM])
def test_a_name_whose_digits_a_clock_shows_is_a_device_where_the_facility_says_so(
    tmp_path: Path, said: str
) -> None:
    own = made(tmp_path, said)
    assert keys("Replaced BPM 0123 at 0730", own) == ["bpm 123"]
    assert keys("Replaced BPM\u20110123 at 0730", own) == ["bpm 123"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("BPM 1275 and BPM 0123 are noisy", ["bpm 1275", "bpm 123"]),
        # Alone, by another kind of number, and beside what says a time: who knows.
        ("BPM 0123 is noisy", []),
        ("BPM 12 is noisy, BPM 0123 too", ["bpm 12"]),
        ("BPM 1275 noisy, BPM 0730 UTC gone", ["bpm 1275"]),
        ("BPM 1275 noisy, BPM 0500 mA", ["bpm 1275"]),
        ("BPM 1275 noisy, MPS 0730 reset", ["bpm 1275"]),
    ],
)
def test_a_name_is_one_like_another_of_its_text(text: str, expected: list[str]) -> None:
    assert keys(text) == expected


def test_a_device_with_another_hyphen_is_shown_with_the_usual_one_where_it_stands(
    tmp_path: Path,
) -> None:
    text = "On HCM\u201103: trip"
    (one,) = devices(text)
    assert (one.value, one.start, one.end) == ("HCM-03", 3, 9)
    (other,) = devices(text, made(tmp_path, LIST))
    assert (other.value, other.start, other.end) == ("HCM-03", 3, 9)
    (marked,) = devices(text, marked=f"<b>{text}</b>")
    assert (marked.start, marked.end) == (6, 12)
