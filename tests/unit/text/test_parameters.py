"""Which values a text states of which device; pure."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.text.facility.devices import DEVICE
from shared.text.facts import Fact
from shared.text.reading import parameters, quantities
from shared.text.words.identifiers import identify


def named(text: str) -> list[Fact]:
    """Return the devices that a text names, each as one word of it."""
    found = []
    place = 0
    for word in text.split():
        start = text.index(word, place)
        place = start + len(word)
        bare = word.strip(".,:;!")
        name = identify(bare) if bare else None
        if name is not None and name.kind == DEVICE:
            found.append(Fact(DEVICE, bare, "form", start, start + len(bare)))
    return found


def stated(text: str) -> list[tuple[str, str, float]]:
    found = tuple(quantities.find_quantities(text))
    told = list(parameters.stated(text, found, named(text)))
    assert [one.value for one in told] == [one.value for one in found]
    return [(one.device, one.parameter, one.value) for one in told if one.device]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("QF1 current set to 3.2 A", [("qf 1", "current", 3.2)]),
        ("Set QF01 to 3.2 A.", [("qf 1", "current", 3.2)]),
        ("HCM03 gap voltage is now 500 mV", [("hcm 3", "gap voltage", 0.5)]),
        (
            "QF1 current changed from 3.0 A to 3.2 A",
            [("qf 1", "current", 3.0), ("qf 1", "current", 3.2)],
        ),
        (
            "QF1 current 3 A, voltage 12 V",
            [("qf 1", "current", 3.0), ("qf 1", "voltage", 12.0)],
        ),
        (
            "QF1 at 3 A and QD2 at 4 A",
            [("qf 1", "current", 3.0), ("qd 2", "current", 4.0)],
        ),
        # What the text is about, in sentences that do not name it.
        ("QF1 was adjusted. The current is 3 A.", [("qf 1", "current", 3.0)]),
        ("QF1 and QD2 looked at. The current is 3 A.", []),
        ("QF1 was adjusted. Quiet night. The current is 400 mA.", []),
        ("400 mA all night. QF1 was adjusted.", []),
        ("QF1 in sector 4, refilled 04:08 to 3 A", [("qf 1", "sector refilled", 3.0)]),
        # A bound, a difference, a time: nobody said that it is so.
        ("QF1 current stays below 3 A", []),
        ("QF1 stays between 3 A and 5 A", []),
        ("QF1 current 3-5 A", []),
        ("Raised QF1 by 0.2 A", []),
        ("QF1 current 3.2 A \u00b1 0.1 A", [("qf 1", "current", 3.2)]),
        ("QF1 current 3.2 A +/- 0.1 A", [("qf 1", "current", 3.2)]),
        ("QF1 current 3.2 A +-0.1 A", [("qf 1", "current", 3.2)]),
        ("QF1 current 3.2 \u00b1 0.1 A", []),
        ("QF1 current < 5 A", []),
        ("QF1 current >5 A", []),
        ("QF1 current \u2264 5 A", []),
        ("QF1 current up 0.2 A", []),
        ("Raised QF1 0.2 A", []),
        ("Lowered the QF1 current 0.2 A", []),
        ("Raised the QF1 current to 3 A", [("qf 1", "current", 3.0)]),
        (
            "QF1 at 3 A, raised QD2 0.2 A and QF3 to 4 A",
            [("qf 1", "current", 3.0), ("qf 3", "current", 4.0)],
        ),
        ("QF1 current increased 0.2 A", []),
        ("QF1 Strom unter 5 A", []),
        ("QF1 Strom um 0.2 A", []),
        ("QF1 current 3 A or 4 A", [("qf 1", "current", 3.0)]),
        # What it was before is not what it is.
        ("QF1 current 3 A (was 2.8 A)", [("qf 1", "current", 3.0)]),
        ("QF1 current down to 3 A from 3.5 A", [("qf 1", "current", 3.0)]),
        ("QF1 current was 8 A", [("qf 1", "current", 8.0)]),
        # A change that says to what.
        ("QF1 current ramped up to 3 A", [("qf 1", "current", 3.0)]),
        ("QF1 raised, now at 3 A", [("qf 1", "current", 3.0)]),
        (
            "QF1 current 3 A -> 3.2 A",
            [("qf 1", "current", 3.0), ("qf 1", "current", 3.2)],
        ),
        ("QF1 tripped 5 minutes ago", []),
        ("beam current 300 mA", []),
    ],
)
def test_a_text_states_values_of_its_devices(text, values) -> None:
    assert stated(text) == values


@given(st.text(alphabet="QF1 HCM03 3.2A \n.;seto by<>+-~\u00b1up", max_size=200))
def test_any_text_keeps_its_quantities(text: str) -> None:
    for device, parameter, _ in stated(text):
        assert device
        assert parameter


def test_every_dimension_says_what_it_is_counted_in() -> None:
    dimensions = {dimension for dimension, *_ in quantities._UNITS}
    assert dimensions | {"temperature"} == quantities.UNIT_OF.keys()
    for dimension, unit in quantities.UNIT_OF.items():
        known = list(quantities.find_quantities(f"at 2.5 {unit}"))
        if known and unit != "m3/s":
            assert [(one.dimension, one.value) for one in known] == [(dimension, 2.5)]
