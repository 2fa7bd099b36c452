"""Search modules and pipelines of other packages: how they come and are switched."""

import importlib
import json
import re
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import FrozenInstanceError, fields
from pathlib import Path
from typing import Any

import pytest

from shared import plugins
from shared.access.scope import Scope
from shared.errors import ConfigurationError, InvalidRequestError, ModuleNotEnabledError
from shared.plugins import (
    PipelineRegistration,
    SearchModuleRegistration,
    extend_registry,
)
from shared.search.pipelines import installed_pipelines as pipelines
from shared.search.pipelines.pipeline_contract import PipelineDescriptor
from shared.search.pipelines.plan_settings import config_hash, limits_of
from shared.search.pipelines.run_pipeline import Modules
from shared.search.query.plan import Plan, SearchQuery, make_plan
from shared.search.retrieval import installed_modules as modules
from shared.search.retrieval import tool_schema
from shared.search.retrieval.branch.branch_run import Branch
from shared.search.retrieval.search_parameters import ParameterDescriptor
from shared.settings.settings import Settings
from shared.text.facility.facility import PLAIN
from tests.support.ended_searches import unasked

ROOT = Path(__file__).parents[4]
ANNA = Scope("default", "anna")
MODULE = """
from shared.search.retrieval.module_contract import (ModuleResult, SearchToolDescriptor)
from shared.search.retrieval.search_parameters import ParameterDescriptor

def get_tool_descriptor():
    return SearchToolDescriptor("{name}", "", "{name}", ModuleResult, "marks"{more})

def get_parameter_descriptors():
    return [ParameterDescriptor("days", "Days", "int", default=7, min=1, max=30)]
"""
PIPELINE = """

from shared.search.pipelines.pipeline_contract import PipelineDescriptor

def get_pipeline_descriptor():
    return PipelineDescriptor("{name}", "Label", "", "direct"{more})
"""
ENTRY_POINTS = """
[logchord.search_modules]
alarms = outside_alarms:get_tool_descriptor

[logchord.pipelines]
hop = outside_hop:get_pipeline_descriptor
"""
ALARMS = "search_modules: {alarms: {enabled: true}}\n"
HOP = "pipelines: {hop: {enabled: true, retrieval_modules: [keyword, alarms]}}\n"

Write = Callable[..., str]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Write a Python module of another package; nothing of it is there afterwards."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr(plugins, "_registered", {})
    monkeypatch.chdir(tmp_path)

    def written(path: str, text: str, name: str = "", more: str = "") -> str:
        (tmp_path / f"{path}.py").write_text(text.format(name=name, more=more))
        paths.append(path)
        _forget(path)
        return path

    paths: list[str] = []
    yield written
    monkeypatch.undo()
    _forget(*paths)


def _forget(*paths: str) -> None:
    for path in paths:
        sys.modules.pop(path, None)
    importlib.invalidate_caches()
    extend_registry()


@pytest.fixture
def packaged(write: Write, tmp_path: Path) -> Write:
    """A package of a search module and a pipeline, both by entry point."""
    info = tmp_path / "outside-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: outside\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    write("outside_alarms", MODULE, "alarms")
    write("outside_hop", PIPELINE, "hop")
    extend_registry()
    return write


def settings_of(text: str, tmp_path: Path, **environ: str) -> Settings:
    file = tmp_path / "given.yaml"
    file.write_text(text)
    return Settings.load({"LOGCHORD_HOME": str(tmp_path), **environ}, file)


def plan_of(settings: Settings, **asked: Any) -> Plan:
    return make_plan(SearchQuery("beam", **asked), ANNA, limits_of(settings))


def refused(text: str, tmp_path: Path, **environ: str) -> ConfigurationError:
    with pytest.raises(ConfigurationError) as caught:
        settings_of(text, tmp_path, **environ)
    return caught.value


@pytest.mark.requirement("S0-41")
def test_a_module_is_found_by_its_entry_point_and_by_its_registration(packaged):
    assert "alarms" in modules.find_modules()
    assert "lattice" not in modules.find_modules()
    path = packaged("outside_lattice", MODULE, "lattice")

    extend_registry(
        search_modules=[SearchModuleRegistration("lattice", path, "What was set.")]
    )

    by_point, by_call = modules.load_module("alarms"), modules.load_module("lattice")
    assert (by_point.is_ours, by_call.is_ours) == (False, False)
    assert [one.name for one in by_call.parameters] == ["days"]
    assert by_call.descriptor.description == "What was set."
    assert modules.load_module("pg_fts").is_ours


def test_the_same_registration_again_is_nothing_and_a_taken_name_is_refused(packaged):
    one = SearchModuleRegistration("lattice", "outside_lattice")
    extend_registry(search_modules=[one])
    extend_registry(search_modules=[one])
    for other in (
        SearchModuleRegistration("lattice", "outside_other"),
        SearchModuleRegistration("alarms", "outside_other"),
        SearchModuleRegistration("pg_fts", "outside_other"),
        SearchModuleRegistration("Lattice", "outside_lattice"),
        SearchModuleRegistration("fresh", "outside_lattice:get"),
    ):
        with pytest.raises(ConfigurationError, match="cannot be registered"):
            extend_registry(search_modules=[other])


def test_what_the_environment_names_registers_itself_before_settings_are_read(
    write, tmp_path
):
    write("outside_lattice", MODULE, "lattice")
    write(
        "outside_registry",
        "from shared.plugins import SearchModuleRegistration, extend_registry\n"
        "extend_registry(search_modules=["
        "SearchModuleRegistration('lattice', 'outside_lattice')])\n",
    )
    on = "search_modules: {lattice: {enabled: true}}"
    assert "lattice" in refused(on, tmp_path).message
    known = settings_of(on, tmp_path, LOGCHORD_REGISTRY="outside_registry")
    assert known.search_modules.plugins["lattice"].enabled
    wrong = refused("", tmp_path, LOGCHORD_REGISTRY="outside_registri")
    assert "outside_registri, which cannot be imported" in wrong.message


@pytest.mark.requirement("S0-01")
def test_search_modules_are_a_layer_below_pipelines_and_know_none():
    contract = (ROOT / ".importlinter").read_text("utf-8")
    section = contract.split("[importlinter:contract:search]")[1]
    layers = re.findall(r"^layers =\n((?: +\S.*\n)+)", section, re.MULTILINE)[0]
    rooms = [line.strip("() ") for line in layers.splitlines()]
    assert rooms.index("pipelines") < rooms.index("retrieval") < rooms.index("query")
    # What make check holds, seen here for the room that it is about.
    files = sorted((ROOT / "shared" / "search" / "retrieval").rglob("*.py"))
    assert len(files) > 20
    assert not [
        one for one in files if "shared.search.pipelines" in one.read_text("utf-8")
    ]


@pytest.mark.requirement("S0-75")
def test_a_pipeline_is_registered_as_llm_or_direct_and_as_nothing_else(
    packaged, tmp_path
):
    told = [one.name for one in fields(PipelineRegistration)]
    assert told == ["name", "module_path", "description", "category"]
    with pytest.raises(ConfigurationError, match="'magic'"):
        PipelineRegistration("far", "outside_far", "", "magic")  # type: ignore[arg-type]
    path = packaged("outside_far", PIPELINE, "far")
    with pytest.raises(FrozenInstanceError):
        PipelineRegistration("far", path).name = "near"

    extend_registry(
        pipelines=[PipelineRegistration("far", path, "Looks far.", "direct")]
    )
    other = packaged("outside_thinking", PIPELINE, "thinking")
    extend_registry(pipelines=[PipelineRegistration("thinking", other, "", "llm")])

    assert pipelines.pipeline("hop").category == "direct"
    assert pipelines.pipeline("far").description == "Looks far."
    with pytest.raises(ConfigurationError, match="as llm and calls itself direct"):
        pipelines.pipeline("thinking")
    text = "pipelines: {far: {enabled: true, retrieval_modules: [keyword]}}"
    (mode,) = limits_of(settings_of(text, tmp_path)).pipelines
    assert (mode.name, mode.category) == ("far", "direct")


@pytest.mark.requirement("S0-76")
def test_a_descriptor_of_a_pipeline_is_frozen_and_says_what_it_is():
    days = ParameterDescriptor("days", "Days", "int", default=7)
    made = PipelineDescriptor("hop", "Hop", "Hops.", "llm", (days,))
    told = [one.name for one in fields(made)]
    assert told[:5] == ["name", "label", "description", "category", "parameters"]
    assert made.parameters == (days,)
    for name in told:
        with pytest.raises(FrozenInstanceError):
            setattr(made, name, None)
    with pytest.raises(ConfigurationError, match="llm or direct"):
        PipelineDescriptor("hop", "Hop", "", "both")  # type: ignore[arg-type]


@pytest.mark.requirement("S0-46")
@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (
            "pipelines: {hop: {retrieval_modules: [keyword, alarm]}}",
            ("pipelines.hop.retrieval_modules names alarm", "Did you mean alarms?"),
        ),
        (
            "pipelines: {rag: {retrieval_modules: [keywords]}}",
            ("pipelines.rag.retrieval_modules names keywords", "mean keyword?"),
        ),
        ("pipelines: {hop: {enabled: true}}", ("hop.retrieval_modules names nothing",)),
        ("pipelines: {hopp: {enabled: true}}", ("s.hopp ", "mean pipelines.hop?")),
        ("pipelines: {hop: {enable: true}}", ("hop.enable ", "hop.enabled?")),
    ],
    ids=["plug-in", "built-in", "none", "misspelt pipeline", "misspelt key"],
)
def test_a_configuration_that_names_what_is_not_there_fails_with_the_nearest(
    packaged, tmp_path, text, parts
):
    # The pipeline itself is there, its descriptor and all: with this it would start.
    assert pipelines.pipeline("hop").label == "Label"
    assert settings_of(HOP, tmp_path).pipelines.plugins["hop"].retrieval_modules
    message = refused(text, tmp_path).message
    for part in parts:
        assert part in message


def test_a_pipeline_of_a_modules_name_is_refused_at_the_start(
    packaged, tmp_path, monkeypatch
):
    path = packaged("outside_far", PIPELINE, "alarms")
    extend_registry(pipelines=[PipelineRegistration("alarms", path)])
    text = "pipelines: {alarms: {enabled: true, retrieval_modules: [keyword]}}"
    assert "the name of a search module" in refused(text, tmp_path).message


@pytest.mark.requirement("S0-77")
def test_a_pipeline_is_off_until_it_and_all_that_it_searches_are_on(packaged, tmp_path):
    asked = {"mode": "hop"}
    with pytest.raises(ModuleNotEnabledError) as caught:
        plan_of(settings_of(ALARMS, tmp_path), **asked)
    assert caught.value.error_code == "unknown_mode"
    with pytest.raises(ModuleNotEnabledError) as caught:
        plan_of(settings_of(HOP, tmp_path), **asked)
    assert caught.value.error_code == "module_not_enabled"

    on = settings_of(ALARMS + HOP, tmp_path)
    plan = plan_of(on, **asked)
    assert (plan.method, plan.branches) == ("hop", ("pg_fts", "alarms"))
    assert (plan.deadline_ms, plan.limit) == (3000, 10)
    (mode,) = limits_of(on).pipelines
    taken = pipelines.list_parameters(("hop",), (mode,))
    assert [one.name for one in taken] == ["days"]
    # What others ask for is not touched by it.
    assert plan_of(on, mode="keyword").branches == ("pg_fts",)
    assert plan_of(on, **asked, modules=("keyword",)).branches == ("pg_fts",)
    with pytest.raises(InvalidRequestError):
        plan_of(on, **asked, sort="newest")
    of_none = config_hash(settings_of(ALARMS, tmp_path), PLAIN)
    assert config_hash(on, PLAIN) != of_none


def test_one_with_a_function_is_one_branch_of_its_own_name(packaged, tmp_path):
    packaged("outside_hop", PIPELINE, "hop", ", execute=print, deadline_ms=9000")
    plan = plan_of(settings_of(ALARMS + HOP, tmp_path), mode="hop")
    assert (plan.branches, plan.deadline_ms) == (("hop",), 9000)
    now = time.monotonic()
    branch = Branch(plan, "hop", now + 5, lambda: now)
    asked = Modules(("keyword", "alarms"), branch, context=unasked())
    with pytest.raises(ModuleNotEnabledError, match=r"'alarm'.*Did you mean alarms\?"):
        asked.find("alarm")


@pytest.mark.parametrize(
    ("name", "more", "why"),
    [
        ("other", "", "no descriptor of that name"),
        ("hop", ", parameters=('days',)", "no ParameterDescriptor"),
        ("hop", ", execute='run'", "execute is a function"),
        ("hop", ", deadline_ms=10", "deadline_ms is 100 to"),
        ("hop", ", parameters=7", "ended in TypeError"),
        ("hop", ", nothing=1", "ended in TypeError"),
    ],
    ids=["name", "parameters", "function", "deadline", "no list", "raises"],
)
def test_a_pipeline_that_cannot_be_used_says_why_when_it_is_asked(
    packaged, tmp_path, name, more, why
):
    packaged("outside_hop", PIPELINE, name, more)
    with pytest.raises(ConfigurationError, match=why):
        pipelines.pipeline("hop")
    # Its own searches fail, in a branch that says so; the start does not.
    plan = plan_of(settings_of(ALARMS + HOP, tmp_path), mode="hop")
    assert plan.branches == ("hop",)


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (", args_schema=dict", "args_schema is no model"),
        (", format_result='text'", "are functions"),
    ],
    ids=["schema", "text"],
)
def test_a_module_that_is_no_tool_cannot_be_used(packaged, more, why):
    packaged("outside_alarms", MODULE, "alarms", more)
    with pytest.raises(ConfigurationError, match=why):
        modules.load_module("alarms")


def test_results_as_text_are_cut_and_cite_nothing_themselves():
    one = {"entry_id": "7", "content": "see [#12] " + "x" * 2000, "author": None}
    (told,) = json.loads(tool_schema.as_json([{**one, "scores": {"bm25": 3.0}}]))
    assert told.keys() == {"entry_id", "content"}
    assert told["content"].startswith(r"see [\#12] x")
    assert len(told["content"]) <= tool_schema.MAX_TEXT_CHARS + 1
