"""What `doctor` says of configured sources."""

from typing import Any

import pytest

from api.cli.doctor.source_checks import of_sources
from shared.errors import AdapterNotFoundError, Category, Severity
from shared.settings.settings import Settings
from shared.sources import load_adapter

RING = {"adapter": "als", "base_url": "https://elog.example.org/data.php"}
EXPORT = {"adapter": "jlab", "path": "/data/jlab.json"}
SHEET = {"adapter": "generic_csv", "path": "/data/orders.csv", "timezone": "UTC"}


def states(**sources: dict[str, Any]) -> list[tuple[str, str]]:
    settings = Settings.model_validate({"sources": sources})
    return [(one.name, one.state) for one in of_sources(settings)]


@pytest.mark.requirement("S4-88")
def test_some_logbooks_live_and_some_from_files_alone_is_worth_a_note():
    assert states(ring=RING, export=EXPORT) == [("sources", "note")]
    assert states(ring=RING, sheet=SHEET) == [("sources", "ok")]
    assert states(export=EXPORT) == [("sources", "ok")]


def test_a_source_that_cannot_be_used_is_named_with_the_reason():
    settings = Settings.model_validate(
        {
            "sources": {
                "ring": {
                    "adapter": "olog",
                    "base_url": "https://olog.example.org",
                    "snapshot_path": "/data/olog.json",
                }
            }
        }
    )

    (found,) = of_sources(settings)

    assert (found.name, found.state) == ("source ring", "failed")
    assert "sources.ring.snapshot_path" in found.found


def test_without_a_source_that_is_asked_there_is_nothing_to_say():
    assert states(api={"adapter": "push"}) == []


@pytest.mark.requirement("S2-64")
def test_an_adapter_that_nobody_has_is_refused_with_those_there_are():
    with pytest.raises(AdapterNotFoundError) as caught:
        load_adapter.find_adapter_class("olag")

    error = caught.value
    assert (error.category, error.severity) == (Category.INGESTION, Severity.CRITICAL)
    assert error.adapter_name == "olag"
    assert {"olog", "push"} <= set(error.available_adapters)
    assert all(one in error.message for one in error.available_adapters)
