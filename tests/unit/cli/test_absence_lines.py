"""What `logchord search` prints of the sources where it has found nothing."""

from typing import Any
from zoneinfo import ZoneInfo

import pytest

from api.cli.search import absence

FIRST, LAST = "2024-06-10T04:00:00Z", "2026-06-10T04:00:00Z"


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, "complete from 2024-06-10 04:00 UTC to 2026-06-10 04:00 UTC"),
        ({"is_whole": True}, "complete from its beginning to 2026-06-10 04:00 UTC"),
        ({"gaps": [{}, {}]}, "to 2026-06-10 04:00 UTC, but for 2 gaps"),
        ({"complete_from": None}, "what was new until 2026-06-10 04:00 UTC"),
    ],
)
def test_how_far_a_source_reaches_is_told(changes: dict[str, Any], told: str) -> None:
    source = {"source": "ring", "complete_from": FIRST, "complete_to": LAST, "gaps": []}
    line = absence._reach({**source, **changes}, ZoneInfo("UTC"))
    assert line.startswith("ring, ")
    assert line.endswith(told)
