"""A search module of another package that errs, hangs or names what it may not."""

import json
import threading
import time
from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass, fields, replace
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from pydantic import BaseModel

from shared.access.scope import Scope
from shared.entries.draft import EntryDraft
from shared.entries.saving.save import tombstone
from shared.errors import LogchordError
from shared.ids import uuid7
from shared.postgres.pool import Pool, connection
from shared.search.query.plan import PlanLimits, SearchQuery, make_plan
from shared.search.retrieval.branch import plugin_module
from shared.search.retrieval.circuit import (
    OPENS_AFTER_FAILURES,
    PROBE_SECONDS,
    Circuits,
)
from shared.search.retrieval.module_contract import (
    Ask,
    ModuleResult,
    Named,
    SearchToolDescriptor,
)
from shared.search.retrieval.search_context import SearchContext
from tests.support.fixtures.asking import Asking

ENTRIES = (
    EntryDraft("api", "open", "the beam was lost"),
    EntryDraft("api", "ours", "beam again", logbooks=("ops",)),
    EntryDraft("api", "theirs", "beam for ben", readers=("ben",)),
    EntryDraft("api", "gone", "beam gone"),
)
LIMITS = PlanLimits(outside=frozenset({"outside"}))


@dataclass
class World:
    pool: Pool
    context: SearchContext
    ids: dict[str, UUID]

    def found(
        self,
        execute: Callable[[Ask, SearchContext], Any],
        query: str = "beam",
        **fields: Any,
    ) -> list[str]:
        found = self.outcome(execute, query, **fields)
        names = {str(entry_id): name for name, entry_id in self.ids.items()}
        return [names[hit.entry_id] for hit in found.hits]

    def outcome(
        self,
        execute: Callable[[Ask, SearchContext], Any],
        query: str = "beam",
        *,
        tenant: str = "default",
        seconds: float = 5.0,
        name: str = "outside",
        **fields: Any,
    ) -> ModuleResult:
        question = SearchQuery(query, mode="outside", **fields)
        plan = make_plan(question, Scope(tenant, "anna"), LIMITS)
        described = SearchToolDescriptor(name, "", "outside", execute, "marks")
        return plugin_module.execute(
            described, Ask.lasting(plan, seconds), self.context
        )

    def everything(self, *_: object) -> ModuleResult:
        """Name every entry there is, one that never was, and one of them twice."""
        ids = [*self.ids.values(), uuid7(), self.ids["ours"]]
        named = [Named(one, n / 10) for n, one in enumerate(ids)]
        return ModuleResult(named=tuple(named))


@pytest.fixture
def world(asking: Asking) -> World:
    ids = asking.write(*ENTRIES)
    with connection(asking.pool) as conn:
        tombstone(conn, "default", ids["gone"], reason="test", stages=[])
    return World(asking.pool, asking.context, ids)


def test_only_what_the_caller_may_see_and_asked_for_is_left_the_best_first(world):
    assert world.found(world.everything) == ["ours", "open"]
    ops = {"filters": {"logbook": "ops"}}
    assert world.found(world.everything, **ops) == ["ours"]
    assert world.found(world.everything, "beam -again") == ["open"]
    assert world.found(world.everything, tenant="elsewhere") == []


def test_a_coroutine_is_a_module_too(world):
    async def execute(ask: Ask, context: SearchContext) -> ModuleResult:
        return world.everything(ask, context)

    assert world.found(execute) == ["ours", "open"]


@pytest.mark.requirement("S0-43")
def test_a_descriptor_is_frozen_and_runs_either_kind_of_function_in_its_time(world):
    ended = threading.Event()
    in_time = True

    def function(ask: Ask, context: SearchContext) -> ModuleResult:
        assert in_time or ended.wait(30)
        return world.everything(ask, context)

    async def coroutine(ask: Ask, context: SearchContext) -> ModuleResult:
        return function(ask, context)

    kinds = (function, coroutine)
    assert [world.found(one) for one in kinds] == [["ours", "open"]] * 2
    in_time = False
    try:
        for one in kinds:
            with pytest.raises(LogchordError) as caught:
                world.found(one, seconds=0.1)
            assert caught.value.error_code == "branch_timeout"
    finally:
        ended.set()
    told = {one.name for one in fields(SearchToolDescriptor)}
    named = {"name", "description", "search_mode", "args_schema", "execute"}
    assert told >= {*named, "format_result", "needs_embedder"}
    made = SearchToolDescriptor("outside", "", "outside", world.everything, "marks")
    for name in told:
        with pytest.raises(FrozenInstanceError):
            setattr(made, name, None)
    assert issubclass(made.args_schema, BaseModel)
    assert made.args_schema(query="beam").model_dump()["limit"] == 10
    assert json.loads(made.format_result([{"entry_id": "7"}])) == [{"entry_id": "7"}]


def test_what_hangs_is_late_and_takes_nobody_elses_thread(world):
    ended = threading.Event()

    def hangs(*_: object) -> ModuleResult:
        ended.wait(30)
        return ModuleResult()

    try:
        for _ in range(plugin_module.THREADS + 1):
            with pytest.raises(LogchordError) as caught:
                world.found(hangs, seconds=0.1)
            assert caught.value.error_code == "branch_timeout"
    finally:
        ended.set()


def test_what_hangs_again_and_again_is_left_alone_and_asked_now_and_then(
    world, monkeypatch
):
    ended = threading.Event()
    asked: list[float] = []

    def hangs(*_: object) -> ModuleResult:
        asked.append(time.monotonic())
        ended.wait(30)
        return world.everything()

    monkeypatch.setattr(plugin_module, "ENOUGH_SECONDS", 0.01)
    now = [0.0]
    world.context = replace(world.context, circuits=Circuits(lambda: now[0]))
    try:
        for _ in range(OPENS_AFTER_FAILURES):
            with pytest.raises(LogchordError):
                world.found(hangs, seconds=0.1, name="hanging")
        began = time.monotonic()
        assert world.outcome(hangs, name="hanging").skipped == "circuit_open"
        assert time.monotonic() - began < 2
        # Another module, and the index, are asked as before.
        assert world.found(world.everything) == ["ours", "open"]
    finally:
        ended.set()
    now[0] += PROBE_SECONDS
    assert world.found(world.everything, name="hanging") == ["ours", "open"]
    assert world.outcome(world.everything, name="hanging").skipped is None
    assert len(asked) <= plugin_module.THREADS + 1


def late(world: World, name: str) -> None:
    """Ask a module of that name that does not answer within a tenth of a second."""
    ended = threading.Event()

    def hangs(*_: object) -> ModuleResult:
        ended.wait(30)
        return ModuleResult()

    try:
        with pytest.raises(LogchordError) as caught:
            world.found(hangs, seconds=0.1, name=name)
        assert caught.value.error_code == "branch_timeout"
    finally:
        ended.set()


def test_whoever_hurries_a_module_closes_it_to_nobody(world):
    """Its circuit is shared by every tenant, and a deadline is one caller's own."""
    assert 0.1 < plugin_module.ENOUGH_SECONDS < 1
    for _ in range(OPENS_AFTER_FAILURES):
        late(world, "hurried")
    assert world.found(world.everything, name="hurried") == ["ours", "open"]


def test_an_error_is_an_answer_and_no_sign_that_a_module_hangs(world, monkeypatch):
    monkeypatch.setattr(plugin_module, "ENOUGH_SECONDS", 0.01)

    def errs(*_: object) -> ModuleResult:
        raise ValueError

    for _ in range(OPENS_AFTER_FAILURES - 1):
        late(world, "erring")
    with pytest.raises(ValueError):  # noqa: PT011 - that one, and it says nothing
        world.found(errs, name="erring")
    late(world, "erring")
    assert world.outcome(world.everything, name="erring").skipped is None


@pytest.mark.parametrize(
    "wrong",
    [
        lambda *_: [("id", 1.0)],
        lambda *_: ModuleResult(named=(Named("not one", 1.0),)),  # type: ignore[arg-type]
        lambda *_: ModuleResult(named=(Named(uuid7(), float("nan")),)),
        lambda *_: ModuleResult(diagnostics=("slow today",)),  # type: ignore[arg-type]
        lambda *_: ModuleResult(as_of="now"),  # type: ignore[arg-type]
        lambda *_: ModuleResult(skipped=7),  # type: ignore[arg-type]
    ],
    ids=["no-found", "no-uuid", "no-number", "no-diagnostic", "no-time", "no-reason"],
)
def test_what_is_no_answer_is_an_error_of_its_branch(world, wrong):
    with pytest.raises(LogchordError) as caught:
        world.found(wrong)
    assert caught.value.error_code == "configuration_invalid"
    assert "outside" in str(caught.value)


def test_a_number_of_another_library_becomes_one_that_travels(world):
    def execute(*_: object) -> ModuleResult:
        return ModuleResult(named=(Named(world.ids["open"], np.float32(0.5)),))  # type: ignore[arg-type]

    plan = make_plan(
        SearchQuery("beam", mode="outside"), Scope("default", "anna"), LIMITS
    )
    described = SearchToolDescriptor("outside", "", "outside", execute, "marks")
    found = plugin_module.execute(described, Ask.lasting(plan, 5.0), world.context)
    assert [type(hit.score) for hit in found.hits] == [float]
