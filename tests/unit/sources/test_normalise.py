"""From an adapter's entry to a draft: mended, bounded, never lost without a word."""

from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from shared.adapter_contract.contract import RawItem
from shared.adapter_contract.entry import AttachmentRef, Entry
from shared.entries.draft import EntryDraft
from shared.errors import MalformedEntryError
from shared.settings.settings import Settings
from shared.settings.source_sections import SourceSettings
from shared.sources.intake.normalise import _SEVERAL, _SINGLE, PullRules

NOW = datetime(2026, 3, 2, 5, 10, tzinfo=UTC)
ENTRY = Entry("77", NOW, title="RF trip", text="Cavity 2")


def draft(entry: Entry = ENTRY, **source: Any) -> EntryDraft:
    settings = SourceSettings.model_validate({"adapter": "olog", **source})
    rules = PullRules(Settings(), "ring", settings, 3)
    return rules.draft(entry, RawItem(entry.external_id, {}), now=NOW)


def refusal(entry: Entry) -> str | None:
    with pytest.raises(MalformedEntryError) as refused:
        draft(entry)
    return refused.value.reason


def test_what_is_clean_stays_as_it_is():
    made = draft()
    assert (made.source, made.external_id, made.title) == ("ring", "77", "RF trip")
    assert (made.flags, made.text_flags, made.parsed_by) == ((), (), 3)


@pytest.mark.parametrize("bad", ["\x00", "\ud800"])
@pytest.mark.parametrize("name", [*_SINGLE, *_SEVERAL, "metadata", "attachments"])
def test_what_no_text_may_hold_is_replaced_wherever_it_stands(bad, name):
    if name in {"text_format", "kind"}:
        return
    value: Any = f"a{bad}b"
    if name in _SEVERAL:
        value = (value,)
    elif name == "metadata":
        value = {f"k{bad}": f"v{bad}"}
    elif name == "attachments":
        value = (AttachmentRef("1", f"a{bad}.txt"),)
    made = draft(replace(ENTRY, **{name: value}))
    assert bad not in str(made)
    assert "\ufffd" in str(made)
    assert "repaired" in made.flags
    assert "repaired" in made.text_flags


def test_every_field_that_holds_text_is_looked_at():
    named = {*_SINGLE, *_SEVERAL, "metadata", "attachments"}
    others = {"entry_time", "event_time", "modified_at", "visible_from", "origin"}
    assert {one.name for one in fields(Entry)} == named | others | {"deleted"}


def test_an_entry_that_cannot_be_stored_costs_itself_and_says_why():
    assert refusal(replace(ENTRY, title=" ", text="\n")) == "empty_entry"
    assert refusal(replace(ENTRY, external_id="")) == "external_id"
    assert refusal(replace(ENTRY, external_id="x" * 256)) == "external_id"
    assert refusal(replace(ENTRY, text="x" * 1_000_001)) == "too_large"
    assert refusal(replace(ENTRY, entry_time=None)) == "time_missing"
    far = datetime(2201, 1, 1, tzinfo=UTC)
    assert refusal(replace(ENTRY, event_time=far)) == "time_out_of_range"
    assert draft(replace(ENTRY, authors=(), text="")).authors == ()
    at_the_limit = replace(ENTRY, title="", text="x" * 1_000_000)
    assert len(draft(at_the_limit).text) == 1_000_000


def test_what_is_too_wide_is_cut_and_flagged():
    many = {str(n): str(n) for n in range(10_000)}
    wide = draft(
        replace(ENTRY, metadata=many, tags=tuple("t" * n for n in range(1, 201)))
    )
    assert len(wide.metadata) == 64
    assert len(wide.tags) == 64
    assert wide.flags == ("metadata_overflow",)


def test_no_word_of_a_title_that_is_too_long_is_lost():
    made = draft(replace(ENTRY, title="x" * 1001))
    assert len(made.title) == 1000
    assert made.text.startswith("x" * 1001)


def test_more_than_a_day_ahead_is_stored_and_flagged():
    ahead = draft(replace(ENTRY, entry_time=NOW + timedelta(days=2)))
    assert ahead.flags == ("time_in_future",)
    assert draft(replace(ENTRY, entry_time=NOW + timedelta(hours=23))).flags == ()


def test_who_writes_is_the_sources_word_else_its_rule():
    rule: dict[str, Any] = {
        "machine_when": {"author": "^(alarm|logger)$", "level": "^auto"}
    }
    robot = replace(ENTRY, authors=("alarm",), level="automatic")
    assert draft(robot, **rule).origin == "machine"
    assert draft(replace(robot, level="info"), **rule).origin == "human"
    assert draft(replace(robot, origin="human"), **rule).origin == "human"
    assert draft(ENTRY, origin="machine").origin == "machine"


def test_nobody_zero_and_itself_are_no_reference():
    for nobody in (None, "", "0", "77"):
        made = draft(replace(ENTRY, reply_to=nobody, related=("78", nobody or "")))
        assert made.reply_to is None
        assert made.related == ("78",)
    assert draft(replace(ENTRY, reply_to="78")).reply_to == "78"


def test_the_page_for_people_is_the_sources_own_or_by_its_template():
    template: dict[str, Any] = {
        "entry_url_template": "https://log.example.org/e/{external_id}"
    }
    assert draft(**template).url == "https://log.example.org/e/77"
    odd = draft(replace(ENTRY, external_id="A/1 ?"), **template)
    assert odd.url == "https://log.example.org/e/A%2F1%20%3F"
    # What would run in whoever follows it is no address.
    scripted = replace(ENTRY, url="javascript:alert(1)")
    assert draft(scripted).url is None
    assert draft(scripted, **template).url == "https://log.example.org/e/77"
    assert draft(replace(ENTRY, url="https://own/77"), **template).url == (
        "https://own/77"
    )
