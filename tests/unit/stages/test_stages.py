"""What a stage may say of itself, and which ones an entry passes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from shared.errors import ConfigurationError
from shared.messaging import stage_names, task_names
from shared.settings.sections import LASTING_STAGES
from shared.settings.settings import Settings
from shared.stages import entry_stages, installed_stages
from shared.stages.stage_contract import NoOptions, StageDescriptor, StageInput
from shared.text.facility.facility import PLAIN

SETTINGS = Settings.load({"EMBEDDING_MODEL": "all-MiniLM-L6-v2"})


class Word(BaseModel):
    """A word that was found."""

    word: str


def finds_nothing(_: StageInput) -> list[Word]:
    """Return nothing, as a stage may."""
    return []


def stage(name: str = "words", **more) -> StageDescriptor:
    fields = {"version": 1, "description": "Finds words.", "reads": ("text",)}
    finder = {"finds": Word, "find": finds_nothing}
    return StageDescriptor(name, **{**fields, **finder, **more})


@pytest.mark.parametrize(
    ("flaw", "reason"),
    [
        pytest.param({"name": "Words"}, "small letters", id="capital"),
        pytest.param({"name": "embed:words"}, "small letters", id="colon"),
        pytest.param({"version": 0}, "version", id="version-0"),
        pytest.param({"version": 2**15}, "version", id="version-too-large"),
        pytest.param({"reads": ("readers",)}, "readers", id="no-such-field"),
        pytest.param({"reads": ()}, "say what it reads", id="reads-nothing"),
        pytest.param({"find": None}, "needs the model", id="no-function"),
        pytest.param({"finds": None}, "needs the model", id="no-model"),
        pytest.param({"after": ("words",)}, "after itself", id="after-itself"),
        pytest.param({"searched": ("said",)}, "must be a field", id="no-such-words"),
        pytest.param({"is_optional": False}, "optional", id="not-optional"),
    ],
)
def test_what_cannot_be_a_stage_is_refused_with_the_reason(flaw, reason):
    with pytest.raises(ConfigurationError, match=reason):
        stage(**flaw)
    assert stage(version=2**15 - 1).version == 2**15 - 1


def test_a_stage_reads_what_it_names_and_nothing_else():
    reading = StageInput({"text": "beam"}, NoOptions(), PLAIN)
    assert dict(reading) == {"text": "beam"}
    with pytest.raises(KeyError):
        reading["title"]


@pytest.mark.requirement("O06")
def test_what_is_due_at_once_is_sent_in_the_order_of_the_stages():
    model = "embed:all-MiniLM-L6-v2-int8"
    of_all = entry_stages.list_configured_stages(SETTINGS)
    assert of_all[:2] == (stage_names.METADATA_STAGE, model)
    assert of_all[-1] == stage_names.INDEX_STAGE
    at_once = entry_stages.list_entry_stages(SETTINGS)
    assert at_once == (stage_names.METADATA_STAGE, model)
    after = entry_stages.list_next_stages(SETTINGS, stage_names.METADATA_STAGE)
    assert after == (stage_names.DUPLICATES_STAGE, stage_names.INDEX_STAGE)
    assert not {*after, stage_names.ATTACHMENTS_STAGE} & {*at_once}
    gone = (model, stage_names.DUPLICATES_STAGE, stage_names.INDEX_STAGE)
    assert entry_stages.list_deletion_stages(SETTINGS) == gone


@pytest.mark.parametrize(
    ("given_stages", "reason"),
    [
        pytest.param('{"link": {}}', "no stage link is installed", id="unknown"),
        pytest.param(
            '{"index": {"enabled": false}}',
            "index cannot be switched off",
            id="lasting",
        ),
        pytest.param('{"digest": {"on": true}}', "on", id="no-such-setting"),
    ],
)
def test_what_cannot_be_set_of_stages_is_refused_at_the_start(given_stages, reason):
    with pytest.raises(ConfigurationError, match=reason):
        Settings.load({"LOGCHORD_STAGES": given_stages})


def test_the_stages_with_tasks_of_their_own_are_those_that_last():
    found = {
        name for name, one in installed_stages.list_stages().items() if one.find is None
    }
    # Nobody relies on alerts: they may be switched off.
    assert found - {"alert"} == LASTING_STAGES


def test_a_stage_runs_as_it_is_set_and_else_as_it_says_itself():
    assert "digest" not in entry_stages.list_entry_stages(SETTINGS)
    on = Settings.load({"LOGCHORD_STAGES": '{"digest": {"enabled": true}}'})
    assert "digest" in entry_stages.list_entry_stages(on)
    off = Settings.load({"LOGCHORD_STAGES": '{"digest": {"enabled": false}}'})
    assert "digest" not in entry_stages.list_configured_stages(off)


def test_no_entry_waits_to_be_searched_for_what_a_stage_finds_in_it():
    asked = Settings.load({"LOGCHORD_STAGES": '{"digest": {"enabled": true}}'})
    assert entry_stages.list_finder_stages(asked) == {"digest"}
    waited = {
        *entry_stages.list_configured_stages(asked)
    } - entry_stages.list_finder_stages(asked)
    assert {stage_names.METADATA_STAGE, stage_names.INDEX_STAGE} <= waited


@given(st.text(max_size=20))
def test_every_stage_has_a_task_with_a_queue(name):
    task, first = task_names.task_of(name)
    assert task in task_names.QUEUE_OF
    known = {
        stage_names.METADATA_STAGE,
        stage_names.INDEX_STAGE,
        stage_names.DUPLICATES_STAGE,
        stage_names.ATTACHMENTS_STAGE,
    }
    if name not in known and not name.startswith(stage_names.EMBED_PREFIX):
        assert (task, first) == (task_names.RUN_STAGE, (name,))


def test_every_built_in_stage_can_be_used():
    assert installed_stages.broken(SETTINGS) == []
