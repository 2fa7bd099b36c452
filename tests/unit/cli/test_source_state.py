"""What `logchord source list` says of how a source stands."""

import pytest

from api.cli.source import source

WELL = {
    "paused": False,
    "degraded": None,
    "kind": "pull",
    "quarantined": 0,
    "files_not_fetched": 0,
}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "ok"),
        ({"kind": "push"}, "pushed"),
        ({"quarantined": 3}, "ok, 3 quarantined"),
        ({"files_not_fetched": 12}, "ok, 12 files not fetched"),
        (
            {"degraded": "It fails.", "quarantined": 1, "files_not_fetched": 2},
            "degraded, 1 quarantined, 2 files not fetched",
        ),
        ({"paused": True, "degraded": "It fails."}, "paused"),
    ],
)
def test_a_source_is_not_called_well_without_what_is_not_here(changes, said):
    assert source._state({**WELL, **changes}) == said
