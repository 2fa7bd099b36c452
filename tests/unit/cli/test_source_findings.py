"""What a check says of a source, each word of it by what the settings ship (L11)."""

from typing import Any

import pytest

from api.cli.source import findings
from shared.settings.source_sections import SourceSettings

_DAY_SECONDS = 86_400
_HOUR_SECONDS = 3_600


def _told(**can: str) -> dict[str, str]:
    known = {
        "order": "created_asc",
        "edits": "rescan",
        "deletes": "rescan",
        "replies": "parent",
        "attachments": "by_url",
        "readers": "none",
    }
    found: dict[str, Any] = {
        "capabilities": {**known, **can},
        "found": None,
        "timezone": "UTC",
    }
    return dict(findings.lines(found))


@pytest.mark.parametrize("deletes", ["index", "rescan"])
def test_deletions_are_looked_for_as_often_as_is_said(deletes: str) -> None:
    said = _told(deletes=deletes)["deletions"]
    assert SourceSettings().prune_every_seconds == _DAY_SECONDS
    assert said.endswith(", once a day")
    assert "hours" not in said


@pytest.mark.parametrize("edits", ["index", "rescan"])
def test_edits_are_looked_for_as_often_as_is_said(edits: str) -> None:
    every = SourceSettings().reconcile_every_seconds
    assert 2 * _HOUR_SECONDS <= every < _DAY_SECONDS
    assert "every few hours" in _told(edits=edits)["edits"]


def test_a_source_that_each_poll_lists_says_so_of_edits_and_of_deletions() -> None:
    said = _told(order="none", edits="index", deletes="index")
    assert said["edits"] == "seen by the next poll, by its list of ids"
    assert said["deletions"] == "seen by the second poll that does not list them"
