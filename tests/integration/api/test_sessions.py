"""What a session named before counts for its next question, and for nobody else's."""

import asyncio
import socket
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import httpx2
import pytest
import redis
import redis.asyncio

from api.search.sessions import MAX_QUESTIONS, Sessions, key_of
from shared.access.scope import Scope
from shared.ids import uuid7
from shared.messaging import redis_clients
from shared.search.query.context import ranking_context
from shared.search.query.plan import Plan, PlanLimits, SearchQuery, make_plan
from shared.settings.settings import Settings
from shared.text.facility import devices
from shared.text.facility.facility import PLAIN
from shared.times.calendar import NO_CLOCK
from tests.support.waiting import until
from tests.support.written import push_found

MINUTE = 60.0
OWN = replace(
    PLAIN, things=devices.parse_devices("name,kind\nHCM03,device\nQF7,device\n")
)
ANNA, BEN = Scope("default", "anna"), Scope("default", "ben")


@dataclass
class Clock:
    """Time that stands still until it is moved."""

    now: float = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def made(client: redis.asyncio.Redis, clock: Clock, seconds: int = 900) -> Sessions:
    return Sessions(client, seconds, OWN, clock)


def patient(settings: Settings) -> redis.asyncio.Redis:
    """However busy the machine is: how long it waits is none of these tests."""
    return redis.asyncio.Redis.from_url(
        redis_clients.broker_url(settings), decode_responses=True
    )


def plan(query: str, scope: Scope = ANNA, **fields: Any) -> Plan:
    asked = SearchQuery(query, **{"mode": "hybrid", **fields})
    made = make_plan(asked, scope, PlanLimits(), facility=OWN)
    return replace(
        made, ordering=ranking_context.add_ranking_context(made, OWN, NO_CLOCK, {})
    )


def told(story: Callable[[], Any]) -> Any:
    return asyncio.run(story())


def own(carried: Plan) -> list[str]:
    """What a plan takes with it, without what is another thing's alias."""
    terms = carried.ordering.near.get("carried", ())
    return [one.removeprefix("=device=") for one in terms if "~" not in one]


@pytest.mark.requirement("S4-12", "S4-81")
@pytest.mark.parametrize(("minutes", "counts"), [(14, True), (16, False)])
def test_a_session_is_forgotten_after_a_quarter_of_an_hour_of_silence(
    on_valkey: Settings,
    minutes: int,
    counts: bool,  # noqa: FBT001
) -> None:
    async def story() -> list[list[str]]:
        clock, name = Clock(), str(uuid7())
        asked = made(patient(on_valkey), clock)
        first = await asked.carried(plan("HCM03 warm"), name, keep=True)
        clock.now += minutes * MINUTE
        second = await asked.carried(plan("and now"), name, keep=True)
        clock.now += minutes * MINUTE
        third = await asked.carried(plan("QF7 again"), name, keep=True)
        await asked.stop()
        return [own(one) for one in (first, second, third)]

    # Each question keeps it alive.
    kept = ["hcm 3"] if counts else []
    assert told(story) == [[], kept, kept]


@pytest.mark.requirement("S4-12", "S4-81")
def test_a_session_is_its_callers_alone_and_redis_forgets_it(on_valkey) -> None:
    async def story() -> tuple[list[list[str]], int]:
        client, name = patient(on_valkey), str(uuid7())
        asked = made(client, Clock())
        own_key = replace(ANNA, key_id="other")
        elsewhere = replace(ANNA, tenant="elsewhere")
        await asked.carried(plan("HCM03 warm"), name, keep=True)
        await asked.carried(plan("QF7 warm"), name, keep=True)
        seen = [
            own(await asked.carried(plan("x", scope), one, keep=False))
            for scope, one in (
                (ANNA, name),
                (ANNA, f"{name}-other"),
                (ANNA, None),
                (BEN, name),
                (own_key, name),
                (elsewhere, name),
            )
        ]
        left = await client.ttl(key_of(ANNA, name))
        await asked.stop()
        return seen, left

    seen, left = told(story)
    assert seen == [["qf 7", "hcm 3"], [], [], [], [], []]
    assert 0 < left <= 900


def test_so_many_questions_are_kept_and_none_that_is_only_looked_at(on_valkey) -> None:
    async def story() -> tuple[list[str], int]:
        client, name = patient(on_valkey), str(uuid7())
        asked = made(client, Clock())
        for number in range(MAX_QUESTIONS + 2):
            await asked.carried(plan(f"QF{number}"), name, keep=True)
            await asked.carried(plan("HCM03"), name, keep=False)
        last = await asked.carried(plan("x QF5"), name, keep=False)
        kept = await client.llen(key_of(ANNA, name))
        await asked.stop()
        return own(last), kept

    named, kept = told(story)
    # What the question names itself is nearer than that.
    assert named == [f"qf {one}" for one in (9, 8, 7, 6, 4, 3, 2)]
    assert kept == MAX_QUESTIONS


@pytest.mark.requirement("S4-81")
def test_without_redis_a_question_loses_a_preference_and_says_so(monkeypatch) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        url = f"redis://127.0.0.1:{nobody.getsockname()[1]}/0"
        settings = Settings.load({"BROKER_URL": url})

        async def story() -> Plan:
            asked = made(redis_clients.brief_redis(settings), Clock())
            given = await asked.carried(plan("HCM03 warm"), "one", keep=True)
            await asked.stop()
            return given

        alone = told(story)
    (note,) = [one for one in alone.diagnostics if one.code == "session_unread"]
    assert note.level == "info"
    assert replace(alone, diagnostics=()) == replace(plan("HCM03 warm"), diagnostics=())


@pytest.fixture
def logbook(admin: httpx2.Client) -> httpx2.Client:
    """Entries that are alike but for what they name, found by every branch."""
    entries: list[dict[str, Any]] = [
        {"external_id": "a", "text": "QF7: the power supply was found warm"},
        {"external_id": "b", "text": "HCM03: the power supply was found warm"},
        {
            "external_id": "c",
            "text": "QD2: the power supply was found warm",
            "logbooks": ["rf"],
        },
    ]
    push_found(admin, entries)

    def found() -> bool:
        results = asked(admin, "power supply warm")["results"]
        return [len(one["found_by"]) for one in results] == [2, 2, 2]

    until(found, within_seconds=60, what="three entries in both branches")
    return admin


def asked(client: httpx2.Client, query: str, **fields: Any) -> dict[str, Any]:
    body = {"query": query, "mode": "hybrid", "debug": True, **fields}
    answer = client.post("/v1/search/query", json=body)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def factors(body: dict[str, Any]) -> dict[str, float]:
    found = {one["external_id"]: one["factors"] for one in body["results"]}
    assert {*found} == {"a", "b", "c"}
    return {name: one["session"] for name, one in found.items() if "session" in one}


@pytest.mark.requirement("S4-06", "S4-11", "S4-12", "S4-22")
def test_pages_and_sessions_put_hits_first_and_hide_none(logbook) -> None:
    plain = asked(logbook, "power supply warm")
    assert factors(plain) == {}
    assert "session" not in plain["plan"]["context_boosts"]
    # A page, and what was done on it.
    page = {"route": "/search?logbook=rf", "lastAction": {"entityKey": "device:QF-7"}}
    here = asked(logbook, "power supply warm", ambient=page)
    assert factors(here) == {"a": 1.1, "c": 1.1}
    assert {one["external_id"] for one in here["results"][:2]} == {"a", "c"}
    assert here["plan"]["context_boosts"]["session"] == 1.1
    devices = asked(logbook, "power supply warm", scope={"devices": ["HCM 3"]})
    assert devices["results"][0]["external_id"] == "b"
    assert devices["results"][0]["factors"] == {"scope": 1.2}

    def carried() -> bool:
        # Redis is given 50 ms, and says so if it was too late.
        name = str(uuid7())
        first = asked(logbook, "HCM03 warm", session_id=name)
        second = asked(logbook, "power supply warm", session_id=name)
        codes = {n["code"] for one in (first, second) for n in one["diagnostics"]}
        if "session_unread" in codes:
            return False
        assert second["results"][0]["external_id"] == "b"
        assert factors(second) == {"b": 1.1}
        # The same again, after other questions: what bore on it is in the plan.
        asked(logbook, "QF7 warm", session_id=name)
        job = f"/v1/search/jobs/{second['job_id']}"
        again = logbook.post(f"{job}/replay").json()["links"]["self"]
        until(
            lambda: logbook.get(again).json()["state"] == "done",
            within_seconds=30,
            what="the same search again",
        )
        assert logbook.get(again).json()["replay"]["same"] is True
        kept = logbook.get(job).json()["request"]
        assert name not in str(kept)
        return True

    until(carried, within_seconds=60, what="a session that Redis told in time")
