"""What a question names is told as it is written, as it is compared, and where."""

from typing import Any

import pytest

from shared.access.scope import Scope
from shared.search.query import entities
from shared.search.query.plan import PlanLimits, SearchQuery, make_plan
from shared.text.facility import facility
from shared.text.facility.facility import PLAIN, Facility

ANNA = Scope("default", "anna")
DEVICE, PERSON, ENTRY = "device", "person", "entry"


def named(query: str, own: Facility = PLAIN, **fields: Any) -> list[tuple[Any, ...]]:
    plan = make_plan(SearchQuery(query, **fields), ANNA, PlanLimits(), facility=own)
    told = entities.describe_entities(plan, own)
    for one in told:
        start, end = one["start"], one["end"]
        if isinstance(start, int) and isinstance(end, int):
            assert query[start:end] == one["name"]
    return [(one["kind"], one["name"], one["canonical"]) for one in told]


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Facility:
    folder = tmp_path_factory.mktemp("facility")
    (folder / "people.csv").write_text("name,aliases\nJavier Ruiz,J. Ruiz;jru\n")
    rows = "HCM03,device,Magnets,horizontal corrector 3\nVacuum,system,,\n"
    (folder / "things.csv").write_text("name,kind,system,aliases\n" + rows)
    (folder / "facility.yaml").write_text(
        "people: people.csv\nthings: things.csv\nnames:\n"
        "  - {kind: permit, pattern: 'RSR[ -]?\\d{2,6}', ignore_zeros: true}\n"
    )
    return facility.load(folder / "facility.yaml")


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("beam lost", []),
        ("HCM 3 tripped", [(DEVICE, "HCM 3", "hcm3")]),
        ("BPM02 and bpm2", [(DEVICE, "BPM02", "bpm2"), (DEVICE, "bpm2", "bpm2")]),
        ("SR:C01-MG:PS1 fault", [("pv", "SR:C01-MG:PS1", "sr:c01-mg:ps1")]),
        ("gap of BL-7", [("beamline", "BL-7", "bl7")]),
        ("QF1 at 300 mA", [(DEVICE, "QF1", "qf1"), ("quantity", "300 mA", ".3 A")]),
        ("#77234", [(ENTRY, "#77234", "77234")]),
        ("id:OPS-77 pump", [(ENTRY, "OPS-77", "OPS-77")]),
        ("source:ops pump", [("source", "ops", "ops")]),
        ("author:Smith pump", [(PERSON, "smith", "smith")]),
        ("device:HCM03 pump", [(DEVICE, "HCM03", "hcm 3")]),
        ("device:HCM03 OR beam", [(DEVICE, "HCM03", "hcm 3")]),
        ('"HCM03 tripped" again', [(DEVICE, "HCM03", "hcm3")]),
        # What is excluded is not meant, and a pattern names nothing yet.
        ("pump -HCM03 -device:QF1 SR:C??-RF*", []),
        # A time is none, and no number of an entry beside other words.
        ("pump at 07:30 on 2024-06-12", []),
    ],
)
def test_a_question_names_things(query: str, found: list[tuple[str, ...]]) -> None:
    told = [
        (kind, name, canonical.replace("current 0", ""))
        for kind, name, canonical in named(query)
    ]
    assert told == found


def test_lists_of_the_facility_name_people_systems_and_devices(own: Facility) -> None:
    assert named("horizontal corrector 3, J. Ruiz: vacuum bad", own) == [
        (DEVICE, "horizontal corrector 3", "HCM03"),
        (PERSON, "J. Ruiz", "Javier Ruiz"),
        ("system", "vacuum", "Vacuum"),
    ]
    assert named("javier ruiz jru", own) == [
        (PERSON, "javier ruiz", "Javier Ruiz"),
        (PERSON, "jru", "Javier Ruiz"),
    ]
    # Nobody is called so, and what looks like a device is one without a list, too.
    assert named("Ruiz BPM02", own) == [(DEVICE, "BPM02", "bpm2")]


@pytest.mark.requirement("S4-08")
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("SR:C01-MG:PS1 drifted", [("pv", "SR:C01-MG:PS1", "sr:c01-mg:ps1")]),
        ("HCM-03 drifted", [(DEVICE, "HCM-03", "HCM03")]),
        # In no list, and a device by how it is written.
        ("QF7 drifted", [(DEVICE, "QF7", "qf7")]),
        ("gap of BL 5.0.2", [("beamline", "BL 5.0.2", "bl5.0.2")]),
        ("LOTO 2024-0312 on", [("document", "LOTO 2024-0312", "loto-2024-0312")]),
        ("is RSR 0312 lifted", [("permit", "RSR 0312", "rsr-312")]),
        ("what jru wrote", [(PERSON, "jru", "Javier Ruiz")]),
        ("author:ruiz pump", [(PERSON, "ruiz", "ruiz")]),
        ("source:operations pump", [("source", "operations", "operations")]),
        ("beam at 0.3 A", [("quantity", "0.3 A", "current 0.3 A")]),
        ("#77234", [(ENTRY, "#77234", "77234")]),
        ("ops/4711", [(ENTRY, "ops/4711", "ops/4711")]),
        # An alias of the catalogue, and what belongs to no list and no pattern.
        ("horizontal corrector 3", [(DEVICE, "horizontal corrector 3", "HCM03")]),
        ("VACUUM is bad", [("system", "VACUUM", "Vacuum")]),
        ("horizontal corrector of Ruiz", []),
    ],
)
def test_patterns_and_the_catalogue_name_each_kind_of_thing(own, query, found) -> None:
    assert named(query, own) == found


def test_what_filters_name_is_named_without_a_place() -> None:
    filters = {
        "source": "operations",
        "device": {"not": ["QF1"]},
        "quantity": "beam >= 300 mA",
    }
    plan = make_plan(SearchQuery("pump", filters=filters), ANNA, PlanLimits())
    told = entities.describe_entities(plan, PLAIN)
    assert [(one["kind"], one["name"], one["start"]) for one in told] == [
        ("source", "operations", None),
        ("quantity", "beam current >= 0.3 A", None),
    ]


def test_a_name_is_found_where_it_stands_although_blanks_are_many() -> None:
    plan = make_plan(SearchQuery("  the   HCM03    of HCM03"), ANNA, PlanLimits())
    places = [
        (one["start"], one["end"]) for one in entities.describe_entities(plan, PLAIN)
    ]
    assert places == [(8, 13), (20, 25)]
