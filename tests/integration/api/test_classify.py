"""What `POST /v1/classify` tells an orchestrator of the questions of the reference."""

import pytest

from tests.support.classified_questions import GOLDEN
from tests.support.written import ok


@pytest.mark.requirement("S2-32", "S2-33", "S2-34", "S2-35")
@pytest.mark.requirement("S2-36", "S2-37", "S2-38", "S2-39")
@pytest.mark.parametrize(("text", "matches"), GOLDEN)
def test_a_planner_is_told_what_to_do_with_a_question(caller, text, *, matches):
    told = ok(caller.post("/v1/classify", json={"query": text}))
    assert told.keys() == {
        *("capability", "matches", "reason", "plan", "context_key", "time_range")
    }
    assert (told["capability"], told["matches"]) == ("logbook_search", matches)
    assert told["reason"]
    timed = told["time_range"] is not None
    if matches:
        before = ["time_range_parsing"] if timed else []
        assert told["plan"] == [*before, "logbook_search", "respond"]
        assert told["context_key"].startswith("ls_")
        assert timed is ("January" in text)
    else:
        assert told["plan"] == ["respond"]
        assert told["context_key"] is None
