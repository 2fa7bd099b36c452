"""How many match that a caller may not see: told where it is allowed, and no more."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from shared.entries.draft import EntryDraft
from shared.entries.saving.save import tombstone
from shared.postgres.pool import connection
from shared.search.absence import absence
from shared.search.explain import why_not
from shared.search.query.compiled.compiled_question import NOTHING_ASKED
from shared.search.query.plan import PlanLimits
from shared.search.response import response_parts
from shared.search.response.job_answer import JobReader
from shared.search.results.highlights import Highlighter
from shared.settings.settings import Settings
from tests.support.fixtures.asking import ANNA, BEN, Asking

OPEN = EntryDraft("api", "open", "klystron tripped", title="Open title")
CLOSED = (
    EntryDraft("api", "ben", "klystron tripped", readers=("ben",), title="Secret one"),
    EntryDraft("api", "nobody", "klystron off", readers=(), title="Secret two"),
    EntryDraft(
        "api",
        "later",
        "klystron replaced",
        visible_from=datetime(2999, 1, 1, tzinfo=UTC),
        title="Secret three",
    ),
    EntryDraft("api", "vacuum", "vacuum pump", readers=("ben",), title="Secret four"),
)


def answered(asking: Asking, query: str, **fields: Any) -> dict[str, Any]:
    scope = fields.pop("scope", ANNA)
    honest = fields.pop("honest", True)
    plan = asking.plan(query, scope, **fields)
    plan = replace(plan, detail=replace(plan.detail, acl_honesty=honest))
    return asking.answer(plan, asking.carried_out(plan))


@pytest.mark.requirement("I24")
def test_what_matches_and_is_hidden_is_counted_only_where_that_is_allowed(asking):
    ids = asking.write(OPEN, *CLOSED)
    asking.write(EntryDraft("api", "theirs", "klystron tripped"), tenant="elsewhere")
    assert not Settings().search.acl_honesty
    assert not PlanLimits().acl_honesty

    off = answered(asking, "klystron", honest=False)
    body = answered(asking, "klystron")

    assert "hidden_count" not in off
    assert body["hidden_count"] == 3
    assert [one["external_id"] for one in body["results"]] == ["open"]
    told = json.dumps(body)
    assert "Secret" not in told
    assert not [name for name in ("ben", "nobody", "later") if str(ids[name]) in told]
    # Another reader misses less, and filters and words narrow what is counted.
    assert answered(asking, "klystron", scope=BEN)["hidden_count"] == 2
    assert answered(asking, "klystron off")["hidden_count"] == 1
    assert answered(asking, "klystron -tripped")["hidden_count"] == 2
    elsewhere = {"source": "another"}
    assert answered(asking, "klystron", filters=elsewhere)["hidden_count"] == 0
    assert answered(asking, "", filters={"source": "api"})["hidden_count"] == 4
    narrowed = replace(ANNA, logbooks=("ops",))
    assert answered(asking, "klystron", scope=narrowed)["hidden_count"] == 4
    # What has one word of them only ranks, where words are joined by OR.
    plan = asking.plan("klystron replaced")
    plan = replace(
        plan,
        words=replace(plan.words, any_word=True),
        detail=replace(plan.detail, acl_honesty=True),
    )
    assert asking.answer(plan, asking.carried_out(plan))["hidden_count"] == 1
    # By meaning alone nothing matches or not.
    assert answered(asking, "klystron", mode="semantic")["hidden_count"] is None
    # An empty answer says so, too; what was deleted is no secret.
    assert answered(asking, "vacuum")["hidden_count"] == 1
    with connection(asking.pool) as conn:
        tombstone(conn, "default", ids["ben"], reason=None, stages=[])
    assert answered(asking, "klystron")["hidden_count"] == 2


@pytest.mark.requirement("I24")
def test_why_not_tells_the_hidden_from_the_unknown_only_where_that_is_allowed(asking):
    asking.write(OPEN, *CLOSED)
    job = asking.ended(asking.plan("klystron"))

    def why(ref: str, *, honest: bool) -> dict[str, Any]:
        reader = JobReader(asking.context, ANNA, acl_honesty=honest)
        return why_not.explain(reader, job, ref).body()

    assert why("ben", honest=False) == why("unknown", honest=False)
    assert why("unknown", honest=True) == why("unknown", honest=False)
    hidden_one = why("ben", honest=True)
    assert (hidden_one["gate"], hidden_one["entry_id"]) == ("not_visible", None)
    assert "Secret" not in json.dumps(hidden_one)


def test_what_the_count_took_is_not_given_again_to_why_a_page_is_empty(
    asking, monkeypatch
):
    plan = asking.plan("klystron")
    plan = replace(plan, detail=replace(plan.detail, acl_honesty=True))
    ended = asking.conclude(plan, asking.carried_out(plan))
    given: list[int] = []

    def told(*args: Any) -> absence.Absence:
        given.append(args[-1])
        return absence.PRESENT

    monkeypatch.setattr(absence, "explain_empty_page", told)
    with connection(asking.pool) as conn:
        conn.execute("LOCK TABLE entry")
        said = response_parts.build_response_parts(
            asking.context, plan, ended, [], Highlighter(NOTHING_ASKED), 1000
        )

    assert said.hidden is None
    assert given[0] <= 1000 - response_parts.HIDDEN_MS
