"""The line on how far each source was read, beneath a search."""

from api.web.clock_times import ClockTimes
from api.web.rendering import _environment
from shared.settings.settings import Settings
from tests.support.read_page import read_page

SOURCE = {
    "source": "shovels",
    "complete_to": "2026-03-02T10:00:00Z",
    "lag_seconds": 9 * 86_400,
}


def test_a_quiet_source_is_complete_until_now_and_its_newest_entry_old() -> None:
    body: dict[str, object] = {
        "branches": [],
        "as_of": None,
        "search_duration_ms": 5.0,
        "method_used": "hybrid",
        "coverage": {"sources": [SOURCE]},
        "diagnostics": [],
    }
    times = ClockTimes.of(Settings(facility_timezone="UTC"))
    strip = _environment().get_template("_strip.html").render(body=body, times=times)
    line = read_page(strip).one(cls="freshness").text
    assert line == ("shovels is complete to 02 Mar 2026 10:00, newest entry 9 d old.")
