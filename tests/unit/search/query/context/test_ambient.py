"""What a page says of itself and of what was done on it, as names and places."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import ValidationError

from api.search.schemas.ambient import Ambient, dump_ambient
from shared.search.query.context import ranking_context
from shared.text import facts
from shared.text.facility import devices
from shared.text.facility.facility import PLAIN

TABLE = "name,kind,system,aliases\nHCM03,device,,steerer\nRF,system,,\n"
OWN = replace(PLAIN, things=devices.parse_devices(TABLE))
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def around(**ambient: Any) -> tuple[set[str], dict[str, list[str]]]:
    read = ranking_context.read_ambient(
        dump_ambient(Ambient.model_validate(ambient)), NOON, OWN
    )
    named = {facts.make_key(one.kind, one.canonical) for one in read.named}
    return named, dict(read.places)


@pytest.mark.parametrize(
    ("route", "named", "places"),
    [
        ("/", set(), {}),
        ("/devices/HCM-03", {"hcm 3"}, {}),
        ("/device/QF7/trends", {"qf 7"}, {}),
        ("/search?q=steerer+warm&logbook=ops", {"hcm 3"}, {"logbooks": ["ops"]}),
        ("/search?logbook=ops&logbook=rf", set(), {"logbooks": ["ops", "rf"]}),
        ("/search?system=rf", {"rf"}, {}),
        (
            "/Logbooks/control%20room/SR:C01-MG:PS1",
            {"sr:c01-mg:ps1"},
            {"logbooks": ["control room"]},
        ),
        ("/e/elog/123", set(), {"sources": ["elog"]}),
        ("https://[broken/HCM03", set(), {}),
        ("?" + "&".join(["q=HCM03"] * 60), set(), {}),
    ],
)
def test_a_route_names_things_and_places(route, named, places) -> None:
    assert around(route=route) == (named, places)


@pytest.mark.requirement("S4-07")
@pytest.mark.parametrize("hump", [False, True])
def test_what_was_done_on_a_page_counts_in_either_spelling(hump: bool) -> None:  # noqa: FBT001
    done: dict[str, Any] = {
        "action": "opened",
        "source": "chip",
        "query_hint": "is SR:C01-MG:PS1 off",
        "domain": "incident",
        "entity_key": "device:HCM_03",
        "route": "/logbooks/ops",
        "occurred_at": "2026-03-02T12:50:00+01:00",
    }
    if hump:
        done["queryHint"] = done.pop("query_hint")
        done["entityKey"] = done.pop("entity_key")
        done["occurredAt"] = done.pop("occurred_at")
    told = around(**{"lastAction" if hump else "last_action": done})
    places = {"logbooks": ["ops"], "kinds": ["incident"]}
    assert told == ({"hcm 3", "sr:c01-mg:ps1"}, places)


@pytest.mark.requirement("S4-07")
@pytest.mark.parametrize(
    ("at", "counts"),
    [
        (None, True),
        ("2026-03-02T11:46:00Z", True),
        ("2026-03-02T11:45:00Z", True),
        ("2026-03-02T11:44:00Z", False),
        ("2026-03-02T12:44:00+01:00", False),
    ],
)
def test_what_was_done_more_than_15_minutes_ago_counts_no_more(
    at: str | None,
    counts: bool,  # noqa: FBT001
) -> None:
    done = {"entity_key": "HCM03", "route": "/kinds/note", "occurred_at": at}
    told = around(route="/systems/RF", last_action=done)
    fresh = ({"rf", "hcm 3"}, {"kinds": ["note"]})
    assert told == (fresh if counts else ({"rf"}, {}))


@pytest.mark.parametrize(
    "wrong",
    [
        {"rout": "/"},
        {"last_action": {"occurred_at": "2026-03-02T11:46:00"}},
        {"last_action": {"when": "2026-03-02T11:46:00Z"}},
        {"route": "/" * 2001},
        {"last_action": {"entity_key": "x" * 201}},
    ],
)
def test_what_an_ambient_cannot_be_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Ambient.model_validate(wrong)
