"""Systems, devices, people, shifts and quantities, as texts name them."""

from datetime import UTC, datetime
from decimal import Decimal
from itertools import pairwise
from math import isclose, isfinite
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import ConfigurationError
from shared.text import facts
from shared.text.facility import devices, facility, people
from shared.text.reading import quantities
from shared.times import shifts
from shared.times.shifts import Shift

THINGS = """name,kind,system,aliases
HCM03,device,Corrector magnets,horizontal corrector 3
Corrector magnets,system,,correctors
Bucket Cylinder,device,Hydraulics,bucket cyl|bkt cyl
Bucket,device,,
Hydraulics,system,,hyd;hydraulic
Air Conditioner,device,Cabin,a/c;aircon
ID,device,,
"""
PEOPLE = """name,aliases
Javier Ruiz,J. Ruiz;jruiz
Zoë Müller,Z. Mueller
"""


@pytest.fixture(scope="module")
def register() -> devices.Register:
    return devices.parse_devices(THINGS)


def named(register: devices.Register, text: str) -> list[tuple[str, str, str]]:
    """What a text names itself, and how; without what those belong to."""
    return [
        (one.value, one.how, text[one.start : one.end])
        for one in register.found(text)
        if one.how != "part"
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        # From the work orders of an excavator, as its mechanics wrote them.
        ("REPAIR OIL LEAK ON BUCKET CYLINDER R.H", [("Bucket Cylinder", "name")]),
        ("lh bkt cyl leaking", [("Bucket Cylinder", "alias")]),
        ("REPLACE HYD HOSE @ FILTER BLOCK", [("Hydraulics", "alias")]),
        ("L/H A/C not working", [("Air Conditioner", "alias")]),
        ("Change bucket teeth on SHD24 rock bucket", [("Bucket", "name")] * 2),
        # Every spelling of a device is that device, and a near miss is none.
        ("reset HCM 03, hcm-3 and hcm3", [("HCM03", "name")] * 3),
        ("HCM04 HCM 33 HCM031 HCM03A HCM 3.5 XHCM03", []),
        ("the horizontal corrector 3 again", [("HCM03", "alias")]),
        ("read SR:HCM03:SP once", [("HCM03", "within")]),
        # Two sentences name nothing together.
        ("emptied the bucket. Cylinder is fine", [("Bucket", "name")]),
        # So short it is a word, unless it is written as it is listed.
        ("what id has the ID?", [("ID", "name")]),
        ("", []),
    ],
)
def test_a_text_names_the_things_of_the_table(register, text, found) -> None:
    assert [(value, how) for value, how, _ in named(register, text)] == found


@pytest.mark.parametrize("ahead", [1, 2, 3, 13])
def test_names_are_found_wherever_a_part_of_the_text_ends(register, monkeypatch, ahead):
    text = "the horizontal corrector 3, bkt cyl and a/c; " * 9 + "hyd"
    whole = list(register.found(text))

    monkeypatch.setattr(devices, "_READ_AHEAD", devices.MAX_WORDS + ahead)

    assert len(whole) > 36
    assert list(register.found(text)) == whole


def test_a_device_brings_its_system_along(register: devices.Register) -> None:
    found = list(register.found("bucket cyl burst"))
    assert [(one.field, one.value, one.how) for one in found] == [
        ("device", "Bucket Cylinder", "alias"),
        ("system", "Hydraulics", "part"),
    ]
    # By an alias of the system too, as the table has it.
    assert "system~hyd" in set(found[1].terms())


@given(st.text(max_size=200))
def test_names_stand_in_the_text_in_order_and_apart(text: str) -> None:
    found = devices.parse_devices(THINGS).found(text)
    spans = [(one.start, one.end) for one in found if one.start and one.end]
    assert all(start < end <= len(text) for start, end in spans)
    assert all(one[1] <= two[0] for one, two in pairwise(spans))


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ("device\nHCM03\n", "line 1: the columns are"),
        ("name,colour\nx,red\n", "line 1: the columns are"),
        ("name,kind\nHCM03,valve\n", "line 2: a kind is device or system"),
        ("name\nHCM03\n\nHCM 3\n", "line 4: 'HCM 3' is there twice"),
        ("name\nx,y\n", "line 2: it has more values"),
        ('name\n"x\n', "unexpected end"),
        ("name\n" + "a " * 13 + "\n", "at most 12 words"),
        ("", "line 0: the columns are"),
    ],
)
def test_a_table_that_says_nonsense_is_refused_with_its_line(table, told) -> None:
    with pytest.raises(ValueError, match=told):
        devices.parse_devices(table)


@pytest.mark.parametrize(
    ("signed", "name", "how"),
    [
        ("Javier Ruiz", "Javier Ruiz", "name"),
        ("Ruiz, Javier", "Javier Ruiz", "name"),
        ("J. Ruiz", "Javier Ruiz", "alias"),
        ("j ruiz", "Javier Ruiz", "alias"),
        ("JRUIZ", "Javier Ruiz", "alias"),
        ("Zoe Muller", "Zoë Müller", "name"),
        # Who is not listed keeps the name that was signed, its family name last.
        ("Duck, Donald", "Donald Duck", "said"),
        ("M. Ruiz", "M. Ruiz", "said"),
    ],
)
def test_a_signature_is_somebody(signed: str, name: str, how: str) -> None:
    fact = people.parse_people(PEOPLE).author(signed)
    assert fact is not None
    assert (fact.value, fact.how) == (name, how)


def test_an_author_is_looked_for_by_any_form_of_the_name() -> None:
    fact = people.parse_people(PEOPLE).author("jruiz")
    assert fact is not None
    assert people.forms([fact]) == ["j. ruiz", "javier ruiz", "jruiz"]
    assert people.NOBODY.author("  ") is None


def test_one_signature_of_two_people_is_refused() -> None:
    with pytest.raises(ValueError, match=r"line 3: 'J Ruiz' is a form of"):
        people.parse_people("name,aliases\nJavier Ruiz,J. Ruiz\nJana Ruiz,J Ruiz\n")


PLAN = [
    Shift(name="day", begins="08:00"),
    Shift(name="swing", begins="16:00"),
    Shift(name="owl", begins="00:00"),
]


@pytest.mark.parametrize(
    ("moment", "shift"),
    [
        ("2026-01-10T06:59:59", "owl"),
        ("2026-01-10T07:00:00", "day"),
        ("2026-01-10T22:59:00", "swing"),
        ("2026-01-10T23:00:00", "owl"),
        # Clocks go forward: 08:00 there is an hour earlier in UTC from that day on.
        ("2026-03-29T05:59:00", "owl"),
        ("2026-03-29T06:00:00", "day"),
        # Clocks go back: 02:30 comes twice, and both are the owl's.
        ("2026-10-25T00:30:00", "owl"),
        ("2026-10-25T01:30:00", "owl"),
        ("2026-10-25T06:59:00", "owl"),
        ("2026-10-25T07:00:00", "day"),
    ],
)
def test_a_moment_falls_into_the_shift_of_the_wall_clock(moment, shift) -> None:
    at = datetime.fromisoformat(moment).replace(tzinfo=UTC)
    assert shifts.plan(PLAN, "Europe/Berlin").at(at) == shift


def test_before_the_first_shift_of_a_day_the_last_goes_on() -> None:
    two = [Shift(name="day", begins="06:30"), Shift(name="night", begins="18:30")]
    plan = shifts.plan(two, "America/Chicago")
    assert plan.at(datetime(2026, 7, 4, 11, 29, tzinfo=UTC)) == "night"
    assert plan.at(datetime(2026, 7, 4, 11, 30, tzinfo=UTC)) == "day"
    assert shifts.NO_SHIFTS.at(datetime(2026, 7, 4, tzinfo=UTC)) is None


@pytest.mark.requirement("I13")
@pytest.mark.parametrize(
    ("text", "dimension", "value", "name"),
    [
        ("beam current 300 mA", "current", 0.3, "beam current"),
        ("beam current was 0.3 A", "current", 0.3, "beam current"),
        ("leakage 20 pA", "current", 2e-11, "leakage"),
        ("plasma current 1.2 MA", "current", 1.2e6, "plasma current"),
        ("sample 5 mBq", "activity", 0.005, "sample"),
        ("ion pump 5 KV", "voltage", 5000, "ion pump"),
        ("beam 20 ma", "current", 0.02, "beam"),
        ("tank of 500 US gallons", None, None, None),
        ("torque 5 Nm", None, None, None),
        ("plasma 100 MK", None, None, None),
        ("spill of 3 MT", None, None, None),
        ("vacuum at 1e-7 Torr", "pressure", 1.33322368421e-5, "vacuum"),
        ("vacuum 1.5 x 10^-9 mbar", "pressure", 1.5e-7, "vacuum"),
        ("Druck 2 \u00b5bar", None, None, None),
        # A power of ten stands for itself, however it is raised.
        ("P = 10^-7 Torr", "pressure", 1.33322368421e-5, "p"),
        ("P = 10**-7 Torr", "pressure", 1.33322368421e-5, "p"),
        ("P < 10^{-7} Torr", "pressure", 1.33322368421e-5, "p"),
        ("vacuum 10\u207b\u2077 Torr", "pressure", 1.33322368421e-5, "vacuum"),
        ("vacuum 3 x 10^-7 Torr", "pressure", 3.99967105e-5, "vacuum"),
        ("vacuum 3\u00d710\u207b\u2077 Torr", "pressure", 3.99967105e-5, "vacuum"),
        ("vacuum 1.5 x 10-9 mbar", "pressure", 1.5e-7, "vacuum"),
        ("vacuum 3x10\u22127 Torr", "pressure", 3.99967105e-5, "vacuum"),
        ("offset -10^3 V", "voltage", -1000, "offset"),
        ("2 x 100 V supplies", "voltage", 100, None),
        # Powers of what is not ten, and those that lost their sign, are no numbers.
        ("2^-7 Torr", None, None, None),
        ("2**-7 Torr", None, None, None),
        ("x^5 mA", None, None, None),
        ("10-7 Torr", None, None, None),
        ("1.5E -7 Torr", None, None, None),
        ("bunch 5 uC", "charge", 5e-6, "bunch"),
        ("ambient 1013 hPa", "pressure", 101300, "ambient"),
        ("cooling 12 l/min", "flow", 0.0002, "cooling"),
        ("cooling 12 L/min", "flow", 0.0002, "cooling"),
        ("cooling 5 l/s", "flow", 0.005, "cooling"),
        ("cooling 3.6 m\u00b3/h", "flow", 0.001, "cooling"),
        ("field of 300 G", "field", 0.03, "field"),
        ("field of 1.2 kG", "field", 0.12, "field"),
        ("dose 2 mSv/h", "dose rate", 0.002, "dose"),
        ("dose 250 mrem/hr", "dose rate", 0.0025, "dose"),
        ("a mass of 5 kg on the 5G net", None, None, None),
        ("slew rate 5 mA/s", None, None, None),
        ("gap 35 \u00b5m", "length", 3.5e-5, "gap"),
        ("RCS temperature decreased to 542 degrees F", "temperature", 556.4833, None),
        ("at 21.5 \u00b0C", "temperature", 294.65, ""),
        ("discharge pressure was 1,260 psig", "pressure", 8687394.189, None),
        ("tripped from 100% steady state", "fraction", 1.0, "tripped"),
        ("cooled down for 24 HR", "time", 86400, "cooled down"),
        ("at -3 kV", "voltage", -3000, ""),
        # Parts, times of day, sizes of pictures, columns of mercury: no such quantity.
        ("MFW pump 1A and the 3T gauge", None, None, None),
        ("AT 0545 hours", None, None, None),
        ("vacuum of 24.5 inches Hg", None, None, None),
        ("room 12 m/s", None, None, None),
        ("HCM03 V2.1A", None, None, None),
    ],
)
def test_a_number_with_a_unit_is_a_quantity(text, dimension, value, name) -> None:
    found = list(quantities.find_quantities(text))
    if dimension is None:
        assert found == []
        return
    (one,) = found
    assert one.dimension == dimension
    assert isclose(one.value, value or 0, rel_tol=1e-6)
    assert name is None or one.name == name


@pytest.mark.requirement("I13")
@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("beam current 5-10 mA", (0.005, 0.01)),
        ("beam current 5\u201310 mA.", (0.005, 0.01)),
        ("vacuum 1e-7-2.5e-7 mbar", (1e-5, 2.5e-5)),
        ("humidity 40-60%", (0.4, 0.6)),
        # A date, a name, times of day, a part: no ranges.
        ("2024-05-10 mA", ()),
        ("QF3-5 mA", ()),
        ("1400-1500 hours", ()),
        ("pumps 1-2A", ()),
        ("10-5 mA", ()),
        ("10\u20135 mA", ()),
        ("10\u22125 mA", ()),
        ("5-10-20 mA", ()),
    ],
)
def test_a_range_has_two_ends(text: str, ends: tuple[float, ...]) -> None:
    found = list(quantities.find_quantities(text))
    assert [one.value for one in found] == pytest.approx(ends)
    assert len({one.name for one in found}) <= 1
    assert all(one.is_end for one in found)


@pytest.mark.requirement("I13")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("300", "mA"), ("0.3", "A")),
        (("1", "bar"), ("1e5", "Pa")),
        (("1", "mbar"), ("100", "Pa")),
        (("760", "Torr"), ("101325", "Pa")),
        (("10", "KV"), ("10000", "V")),
        (("32", "degF"), ("0", "degC")),
        (("12", "l/min"), ("0.2", "l/s")),
        (("100", "hPa"), ("0.1", "bar")),
        (("1", "kG"), ("0.1", "T")),
        (("1", "mSv/h"), ("100", "mrem/hr")),
    ],
)
def test_equal_quantities_are_equal(one, other) -> None:
    first = quantities.convert_quantity(Decimal(one[0]), one[1])
    second = quantities.convert_quantity(Decimal(other[0]), other[1])
    assert first is not None
    assert second is not None
    assert first[0] == second[0]
    assert isclose(first[1], second[1], rel_tol=1e-8)


@pytest.mark.requirement("U19")
@pytest.mark.parametrize(
    ("text", "point", "comma", "german"),
    [
        ("vacuum 1,5e-7 mbar", None, 1.5e-5, 1.5e-5),
        ("vacuum 1,5 x 10^-7 mbar", None, 1.5e-5, 1.5e-5),
        ("3,5 mA", None, 0.0035, 0.0035),
        ("0,125 A", None, 0.125, 0.125),
        ("1.000,5 V", None, 1000.5, 1000.5),
        ("1 000,5 V", None, 1000.5, 1000.5),
        ("1\u202f000 V", 1000, 1000, 1000),
        ("1\u2009000 V", 1000, 1000, 1000),
        ("raised to 10 500 V.", 10500, 10500, 10500),
        ("> 10 500 V", 10500, 10500, 10500),
        ("10 500 V", 10500, 10500, 10500),
        ("HV is 1 250 000 V and holds", 1_250_000, 1_250_000, 1_250_000),
        # Of a device of that number, or so many of such a thing: who knows.
        ("BPM 10 500 V", 500, 500, 500),
        ("fed to 2 500 V heaters", 500, 500, 500),
        ("1'000.5 V", 1000.5, None, None),
        ("12.5 mA", 0.0125, 0.0125, 0.0125),
        ("1,500e-7 Pa", 1.5e-4, 1.5e-7, 1.5e-7),
        # In German either may be meant; with a point it is what machines show.
        ("1,500 mbar", 150_000, 150, None),
        ("1.500 mbar", 150, 150_000, 150),
        ("1,2,3 mA", None, None, None),
    ],
)
def test_a_number_is_read_as_its_source_writes_it(text, point, comma, german) -> None:
    ways = [
        (point, list(quantities.find_quantities(text, "en"))),
        (point, list(quantities.find_quantities(text, "de", "."))),
        (comma, list(quantities.find_quantities(text, "en", ","))),
        (german, list(quantities.find_quantities(text, "de"))),
    ]
    for value, found in ways:
        told = [] if value is None else [value]
        assert [one.value for one in found] == pytest.approx(told, rel=1e-9)


def test_both_ends_of_a_range_are_read_with_the_same_comma() -> None:
    found = list(quantities.find_quantities("Strom 3,5-10,5 mA", "de"))
    assert [one.value for one in found] == pytest.approx([0.0035, 0.0105])
    assert list(quantities.find_quantities("5-10,5 mA", "en")) == []


@pytest.mark.parametrize("unit", ["", "furlong", "a", "t", "hz/s"])
def test_an_unknown_unit_is_none(unit: str) -> None:
    assert quantities.convert_quantity(Decimal(1), unit) is None


@given(
    st.text(
        alphabet="0123456789.,eE+-x*^{}/ mAkVWHz%\u00b0\u207b\u2077CFTorlhG",
        max_size=120,
    )
)
def test_any_text_has_finite_quantities_in_order(text: str) -> None:
    ways: list[tuple[str, Literal[".", ","] | None]] = [("en", None), ("de", None)]
    for language, mark in [*ways, ("en", ",")]:
        found = list(quantities.find_quantities(text, language, mark))
        assert all(one.end <= two.start for one, two in pairwise(found))
        assert all(isfinite(one.value) for one in found)
    assert list(quantities.find_quantities("1e999 A 9e308 kA")) == []


@pytest.mark.parametrize(
    ("field", "one", "other", "same"),
    [
        ("device", "HCM03", "hcm-3", True),
        ("device", "HCM03", "HCM04", False),
        ("device", "SR:C01-RF", "sr:c01-rf", True),
        # Of a PV the zeros are part of the name.
        ("device", "SR:C01-RF", "SR:C1-RF", False),
        ("level", "Trip", "trip", True),
        ("tag", "a b", "a  b", True),
        ("tag", "a-b", "a b", False),
    ],
)
def test_values_are_compared_by_their_key(
    field: str,
    one: str,
    other: str,
    same: bool,  # noqa: FBT001
) -> None:
    assert (facts.make_term(field, one) == facts.make_term(field, other)) is same


def test_the_facility_s_file_brings_its_tables_and_another_table_is_noticed(tmp_path):
    path = tmp_path / "facility.yaml"
    (tmp_path / "things.csv").write_text(THINGS, "utf-8-sig")
    (tmp_path / "people.csv").write_text(PEOPLE, "utf-8")
    said = (
        "things: things.csv\npeople: people.csv\nshifts:\n  - {name: a, begins: '%s'}"
    )
    path.write_text(said % "08:00", "utf-8")
    own = facility.load(path, "Europe/Berlin")
    assert len(own.things.things) == 7
    assert len(own.people.persons) == 2
    assert own.shifts.zone == "Europe/Berlin"
    seen = {own.facts_fingerprint, facility.load(path).facts_fingerprint}
    (tmp_path / "things.csv").write_text(THINGS + "BPM7,device,,\n", "utf-8")
    seen.add(facility.load(path).facts_fingerprint)
    path.write_text(said % "09:00", "utf-8")
    seen.add(facility.load(path).facts_fingerprint)
    assert len(seen) == 4
    # None of it changes the terms of a text.
    assert facility.load(path).fingerprint == own.fingerprint


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("things: none.csv", "none.csv"),
        ("people: wrong.csv", "line 1: the columns"),
        ("shifts: [{name: a, begins: '25:00'}]", "shifts.0.begins"),
        (
            "shifts: [{name: a, begins: '08:00'}, {name: b, begins: '08:00'}]",
            "two shifts begin at the same time",
        ),
    ],
)
def test_tables_and_shifts_that_say_nonsense_are_refused(tmp_path, said, told) -> None:
    (tmp_path / "wrong.csv").write_text("x\n", "utf-8")
    path = tmp_path / "facility.yaml"
    path.write_text(said, "utf-8")
    with pytest.raises(ConfigurationError, match=told):
        facility.load(path)


@given(st.text(st.characters(max_codepoint=127)))
def test_what_needs_no_taking_apart_is_compared_as_beside_what_does(text: str) -> None:
    beside = facts.make_comparable(f"{text} é")

    assert f"{facts.make_comparable(text)} e".strip() == beside


@pytest.mark.parametrize(
    ("dimension", "value", "unit", "said"),
    [
        ("frequency", 499654090.0, "MHz", "499.65409 MHz"),
        ("temperature", 298.65, "\u00b0C", "25.5 \u00b0C"),
        ("pressure", 3e-7, "mbar", "3e-09 mbar"),
        ("fraction", 0.05, "percent", "5 percent"),
        # Where none is written, one of which it is at least one.
        ("energy", 1.71925e9, "", "1.71925 GeV"),
        ("current", -0.2, "", "-200 mA"),
        ("current", 0, "", "0 A"),
        ("temperature", 4.5, "", "4.5 K"),
        ("temperature", 296.15, "", "23 \u00b0C"),
        ("pressure", 6e5, "", "6 bar"),
        ("pressure", 3e-7, "", "3e-09 mbar"),
        ("fraction", 0.05, "", "5 %"),
        ("flow", 0.001, "", "0.001 m3/s"),
        ("run", 5, "", "5"),
    ],
)
def test_a_value_is_said_in_the_unit_of_its_text_or_in_a_usual_one(
    dimension: str, value: float, unit: str, said: str
) -> None:
    assert quantities.say_quantity(dimension, value, unit) == said
