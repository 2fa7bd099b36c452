"""Devices of a catalogue are what questions name, by any of their names."""

import pytest

from shared.access.scope import Scope
from shared.search.query.entities import find_entities
from shared.search.query.plan import PlanLimits, SearchQuery, make_plan
from shared.text.facility import facility
from shared.times.calendar import NO_CLOCK


@pytest.mark.requirement("S4-18")
@pytest.mark.parametrize(
    "query", ["horizontal corrector 3 tripped", "HCM03 tripped", "why did hcm-3 trip"]
)
def test_a_device_of_a_catalogue_is_named_by_any_of_its_names(tmp_path, query) -> None:
    (tmp_path / "devices.csv").write_text(
        "name,kind,system,aliases\nHCM 3,device,Magnets,horizontal corrector 3\n"
    )
    (tmp_path / "facility.yaml").write_text("things: devices.csv\n")
    known = facility.load(tmp_path / "facility.yaml")
    asked = SearchQuery(query, mode="keyword")
    plan = make_plan(asked, Scope("main", "anna"), PlanLimits(), NO_CLOCK, known)

    found = [(one.kind, one.canonical) for one in find_entities(plan, known)]

    assert found == [("device", "HCM 3")]
