"""What the audit keeps of a request, and what it does where it has no room."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.requests import Request

from api.access import audit
from api.access.audit import Audit
from api.caller_info import CallerInfo
from api.server import metrics
from shared.access.scope import Scope

# Nothing is written here.
NO_POOL: Any = None


def ask(kept: Audit, action: Any = "search", status: int = 200, **told: str) -> None:
    app = SimpleNamespace(state=SimpleNamespace(settings=SimpleNamespace(base_path="")))
    route = SimpleNamespace(path="/v1/search/query")
    asked = {"type": "http", "method": "POST", "headers": [], "path_params": {}}
    caller = CallerInfo(Scope("default", "anonymous"), {"request_id": "r"}, 0.0)
    opened = kept.open(Request({**asked, "app": app, "route": route}), caller, action)
    if opened is not None:
        caller.audited.update(told)
        asyncio.run(opened.end(status))


@pytest.mark.requirement("U30")
@pytest.mark.parametrize(
    ("status", "outcome"), [(200, "done"), (303, "done"), (404, "refused")]
)
def test_a_question_is_kept_as_the_log_keeps_it(status: int, outcome: str) -> None:
    kept = Audit(NO_POOL, keeps_reading=True)
    ask(kept, status=status, query_key="5e1f")
    ask(kept, status=status, query="trip " * 1000)
    first, second = kept._waiting
    assert (first.outcome, first.way_in, first.subject) == (
        *(outcome, "anonymous"),
        "anonymous",
    )
    assert (first.query_key, first.query) == ("5e1f", None)
    assert (second.query_key, len(second.query or "")) == (None, 1000)


@pytest.mark.requirement("U30")
def test_searches_and_reads_leave_no_row_where_that_is_off() -> None:
    kept = Audit(NO_POOL, keeps_reading=False)
    for action in ("search", "read", "administer"):
        ask(kept, action, 403)
    assert [one.action for one in kept._waiting] == ["administer"]


def test_what_there_is_no_room_for_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "MOST_WAITING", 2)
    lost = "logchord_audit_lost_total"
    before = metrics.REGISTRY.get_sample_value(lost) or 0
    kept = Audit(NO_POOL, keeps_reading=True)
    for _ in range(3):
        ask(kept)
    assert len(kept._waiting) == 2
    assert metrics.REGISTRY.get_sample_value(lost) == before + 1
    assert metrics.REGISTRY.get_sample_value("logchord_audit_waiting") == 2
