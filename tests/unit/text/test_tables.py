"""Tables that people paste: their rows, and what a header says of its columns; pure."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.text import plain_text
from shared.text.facility.devices import DEVICE
from shared.text.facts import Fact
from shared.text.reading import pasted_tables, quantities, table_units

HTML = (
    "<p>Scan:</p><table><thead><tr><th>Device</th><th>I / mA</th>"
    "<th>Pressure [mbar]</th><th>Trips</th></tr></thead><tbody>"
    "<tr><td>QF1</td><td>300</td><td>3e-9</td><td>4</td></tr>"
    "<tr><td><p>QF2</p></td><td>250.5</td><td>1.2 x 10<sup>-8</sup></td><td>0</td></tr>"
    "</tbody></table>done"
)
MARKDOWN = """Scan:

| Device | I / mA | Pressure [mbar] | Trips |
|:-------|-------:|----------------:|------:|
| QF1 | 300 | 3e-9 | 4 |
| QF2 | 250.5 | 1.2e-8 | 0 |

done"""
TEXTILE = """Scan:
|_. Device |_. I / mA |_. Pressure [mbar] |_. Trips |
| QF1 | 300 | 3e-9 | 4 |
| QF2 | 250.5 | 1.2e-8 | 0 |

done"""
ELCODE = """Scan:
[table border="1"]Device|I / mA|Pressure &#91;mbar&#93;|Trips
|-QF1|300|3e-9|4
|-QF2|250.5|1.2e-8|0
[/table]done"""
TABS = """Scan:
Device\tI / mA\tPressure [mbar]\tTrips
QF1\t300\t3e-9\t4
QF2\t250.5\t1.2e-8\t0
done"""
ALIGNED = """Scan:
Device   I / mA   Pressure [mbar]   Trips
QF1        300    3e-9                  4
QF2      250.5    1.2e-8                0

done"""
BORDERED = """Scan:
+--------+--------+-----------------+-------+
| Device | I / mA | Pressure [mbar] | Trips |
+--------+--------+-----------------+-------+
| QF1    | 300    | 3e-9            | 4     |
| QF2    | 250.5  | 1.2e-8          | 0     |
+--------+--------+-----------------+-------+
done"""
PASTED = [
    pytest.param(HTML, "html", id="html"),
    pytest.param(MARKDOWN, "markdown", id="markdown"),
    pytest.param(TEXTILE, "textile", id="textile"),
    pytest.param(ELCODE, "elcode", id="elcode"),
    pytest.param(MARKDOWN, "plain", id="markdown in plain text"),
    pytest.param(TABS, "plain", id="tabs"),
    pytest.param(TABS, "markdown", id="tabs in markdown"),
    pytest.param(f"<pre>{ALIGNED}</pre>", "html", id="aligned in html"),
    pytest.param(ALIGNED, "plain", id="aligned"),
    pytest.param(BORDERED, "plain", id="bordered"),
]


def devices(text: str) -> list[Fact]:
    return [
        Fact(DEVICE, one[0], "form", one.start(), one.end())
        for one in re.finditer(r"QF\d+", text)
    ]


def stated(text: str, language: str = "en") -> list[quantities.Quantity]:
    numbers = tuple(quantities.find_quantities(text, language))
    return table_units.read_quantities(text, numbers, devices(text), language)


def of_column(header: str, value: str) -> list[tuple[str, float]]:
    """Return what a value is under a header, with another row of the same kind."""
    text = f"Name | {header}\nfirst | {value}\nsecond | {value}"
    found = [(one.dimension, one.value) for one in stated(text)]
    half = len(found) // 2
    assert found[:half] == found[half:]
    return found[:half]


def cells_of(text: str) -> list[list[str]]:
    (grid,) = pasted_tables.find_tables(text)
    return [[text[one.start : one.end] for one in row] for row in grid.rows]


@pytest.mark.parametrize(("pasted", "text_format"), PASTED)
def test_rows_stay_lines_and_cells_stay_apart(pasted: str, text_format: str) -> None:
    text = plain_text.to_plain(pasted, text_format)
    assert [row[:2] + row[3:] for row in cells_of(text)] == [
        ["QF1", "300", "4"],
        ["QF2", "250.5", "0"],
    ]
    (grid,) = pasted_tables.find_tables(text)
    header = [text[one.start : one.end] for one in grid.header]
    assert header == ["Device", "I / mA", "Pressure [mbar]", "Trips"]
    for row in grid.rows:
        assert "\n" not in text[row[0].start : row[-1].end]


@pytest.mark.parametrize(("pasted", "text_format"), PASTED)
def test_a_unit_in_a_header_applies_to_the_numbers_below_it_and_no_others(
    pasted: str, text_format: str
) -> None:
    text = plain_text.to_plain(pasted, text_format)
    found = stated(text)
    told = [(one.dimension, round(one.value, 12), one.name) for one in found]
    assert told == [
        ("current", 0.3, "qf 1 i"),
        ("pressure", 3e-7, "qf 1 pressure"),
        ("current", 0.2505, "qf 2 i"),
        ("pressure", 1.2e-6, "qf 2 pressure"),
    ]
    assert [text[one.start : one.end] for one in found][::2] == ["300", "250.5"]


def test_the_device_of_a_row_is_whose_values_they_are() -> None:
    found = stated(TABS)
    assert [(one.device, one.parameter) for one in found] == [
        ("qf 1", "i"),
        ("qf 1", "pressure"),
        ("qf 2", "i"),
        ("qf 2", "pressure"),
    ]


def test_a_device_in_a_header_is_whose_column_it_is() -> None:
    found = stated("Time | QF1 current [A] | QF2 [A]\n12:00 | 3.1 | 4\n12:05 | 3.2 | 5")
    assert [(one.device, one.parameter, one.value) for one in found] == [
        ("qf 1", "qf 1 current", 3.1),
        ("qf 2", "qf 2", 4),
        ("qf 1", "qf 1 current", 3.2),
        ("qf 2", "qf 2", 5),
    ]


@pytest.mark.parametrize(
    ("header", "value", "found"),
    [
        ("Pressure [mbar]", "3e-9", [("pressure", 3e-7)]),
        ("Pressure (mbar)", "3e-9", [("pressure", 3e-7)]),
        ("Pressure(Torr)", "1", [("pressure", 133.322368421)]),
        ("Pressure, mbar", "2", [("pressure", 200.0)]),
        ("Pressure in mbar", "2", [("pressure", 200.0)]),
        ("p/mbar", "2", [("pressure", 200.0)]),
        ("I / mA", "-5", [("current", -0.005)]),
        ("[mA]", "5", [("current", 0.005)]),
        ("p [10^-9 mbar]", "3", [("pressure", 3e-7)]),
        ("p [x 1e-9 mbar]", "3", [("pressure", 3e-7)]),
        ("Temperature (C)", "20", [("temperature", 293.15)]),
        ("Temp [\u00b0C]", "20", [("temperature", 293.15)]),
        ("Charge [nC]", "2", [("charge", 2e-9)]),
        ("Downtime (min)", "2", [("time", 120.0)]),
        ("t / s", "2", [("time", 2.0)]),
        ("x / mm", "2", [("length", 0.002)]),
        ("Flow [l/min]", "60", [("flow", 0.001)]),
        ("Gap [mm]", "5-10", [("length", 0.005), ("length", 0.01)]),
        ("Gap [mm]", "<5", [("length", 0.005)]),
        # Its own unit counts more.
        ("I [mA]", "3 A", [("current", 3.0)]),
        ("Trips", "4", []),
        ("Magnet(s)", "4", []),
        ("Counts / s", "4", []),
        ("Gradient T / m", "4", []),
        ("kV/m", "4", []),
        ("Pressure (min)", "4", []),
        ("Pressure x10^-9 [mbar]", "4", []),
        ("Cooling (C)", "4", []),
        ("Phase [furlong]", "4", []),
        ("I [mA]", "3 (set)", []),
        ("I [mA]", "off", []),
        ("I [mA]", "", []),
    ],
)
def test_what_a_header_says_of_a_number(header, value, found) -> None:
    told = of_column(header, value)
    assert [one for one, _ in told] == [one for one, _ in found]
    assert [one for _, one in told] == pytest.approx([one for _, one in found])


def test_a_bound_in_a_cell_and_a_column_of_bounds_are_values_of_no_device() -> None:
    text = "Device | I max [A] | I [A]\nQF1 | 5 | <3\nQF2 | 6 | 2"
    found = [(one.value, one.device, one.parameter) for one in stated(text)]
    assert found == [(5, "", ""), (3, "", ""), (6, "", ""), (2, "qf 2", "i")]


def test_a_row_with_more_or_fewer_cells_has_no_units() -> None:
    text = plain_text.to_plain(
        "<table><tr><th>Device<th>I [mA]<th>Trips</tr>"
        "<tr><td rowspan=2>QF1<td>300<td>4</tr><tr><td>7<td>8</tr></table>",
        "html",
    )
    assert [one.value for one in stated(text)] == [0.3]


def test_two_tables_in_a_row_have_each_its_own_header() -> None:
    text = plain_text.to_plain(
        "<table><tr><th>Device<th>I [mA]</tr><tr><td>QF1<td>300</tr></table>"
        "<table><tr><th>Device<th>Trips</tr><tr><td>QF1<td>9</tr></table>",
        "html",
    )
    assert len(pasted_tables.find_tables(text)) == 2
    assert [one.value for one in stated(text)] == [0.3]


def test_a_value_in_a_row_is_none_of_the_device_in_the_row_before() -> None:
    text = "QF1 | ready | 3 A\ngauge | off | 3e-9 mbar\nQF2 | ready | 4 A"
    found = [(one.device, one.name) for one in stated(text)]
    assert found == [("qf 1", "qf 1 ready"), ("", "gauge off"), ("qf 2", "qf 2 ready")]


@pytest.mark.parametrize(
    "text",
    [
        "One sentence.  Another one.\nAnd one.  And more.\nThe last.  It ends.",
        "Some words  apart\nand others\nand  more here",
        "a | b",
        "cat log | grep 3",
        "\tindented\n\tindented, too",
        "---|---\n---|---",
    ],
)
def test_prose_is_no_table(text: str) -> None:
    assert pasted_tables.find_tables(text) == []


@given(st.text(alphabet="ab1 .|\t\n-[mA]QF\u00b0", max_size=200))
def test_cells_stand_in_their_text_in_order_and_quantities_in_cells(text: str) -> None:
    place = 0
    for grid in pasted_tables.find_tables(text):
        assert place <= grid.start <= grid.body < grid.end <= len(text)
        place = grid.end
        for row in (grid.header, *grid.rows):
            for cell in row:
                said = text[cell.start : cell.end]
                assert said == said.strip()
                assert "\n" not in said
    starts = [one.start for one in stated(text)]
    assert starts == sorted(starts)


def test_a_table_of_many_rows_does_not_fill_an_entry() -> None:
    rows = "\n".join(f"QF{number} | {number} | x" for number in range(1, 20_000))
    found = stated(f"Device | I [mA] | State\n{rows}")
    assert len(found) == quantities.MAX_FOUND
    assert found[-1].value == pytest.approx(0.128)
