"""What one log of an Olog says, in all the ways that it may be said."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.adapter_contract.contract import RawItem, Source, SourceIO
from shared.adapter_contract.entry import Entry
from shared.errors import MalformedEntryError
from workers.adapters.olog.olog import Olog

_LOG: Mapping[str, Any] = {
    "id": 41207,
    "owner": "mkoval",
    "source": "**RF trip** on cavity 3\n\nPV: SR-RF:C3:FWD",
    "description": "RF trip on cavity 3 PV: SR-RF:C3:FWD",
    "level": "Problem",
    "title": "RF trip C3",
    "state": "Active",
    "createdDate": 1718000000123,
    "modifyDate": None,
    "logbooks": [{"name": "Operations", "owner": "ops"}],
    "tags": [{"name": "RF"}, {"name": "RF"}, {"name": "Cavity"}],
    "properties": [
        {
            "name": "Log Entry Group",
            "owner": None,
            "attributes": [{"name": "id", "value": "6f0c1b0e-7f1d"}],
        },
        {"name": "Shift", "attributes": [{"name": "leader", "value": "ana"}]},
    ],
    "attachments": [
        {"id": "66671c", "filename": "trip.png", "fileMetadataDescription": "image/png"}
    ],
    "events": [{"name": "faultTime", "instant": 1717999700000}],
}
_CREATED = datetime(2024, 6, 10, 6, 13, 20, 123_000, tzinfo=UTC)


def _parse(payload: Any) -> Entry:
    source = Source(name="ring", base_url="https://olog.example.org")
    adapter = Olog(source, cast("SourceIO", None))
    return adapter.parse(RawItem("41207", payload))


def _changed(**changes: Any) -> Entry:
    return _parse({**_LOG, **changes})


def test_a_log_becomes_an_entry_with_everything_it_says() -> None:
    entry = _parse(_LOG)
    assert entry.entry_time == _CREATED
    assert entry.event_time == _CREATED - timedelta(seconds=300, milliseconds=123)
    assert (entry.title, entry.text_format) == ("RF trip C3", "markdown")
    assert entry.text == _LOG["source"]
    assert (entry.authors, entry.editor) == (("mkoval",), None)
    assert (entry.level, entry.logbooks) == ("Problem", ("Operations",))
    assert entry.tags == ("RF", "Cavity")
    assert entry.thread_key == "6f0c1b0e-7f1d"
    assert entry.metadata == {
        "Shift.leader": "ana",
        "event.faultTime": "2024-06-10T06:08:20+00:00",
    }
    (file,) = entry.attachments
    assert file.url == "https://olog.example.org/Olog/attachment/66671c"
    assert (file.filename, file.declared_type) == ("trip.png", "image/png")


def test_the_first_owner_is_the_author_and_the_last_one_the_editor() -> None:
    log = {**_LOG, "modifyDate": 1718000300000, "owner": "jroe"}
    alone = _parse(log)
    assert (alone.authors, alone.editor) == (("jroe",), "jroe")
    asked = _parse({"log": log, "first_owner": "mkoval"})
    assert (asked.authors, asked.editor) == (("mkoval",), "jroe")
    assert asked.modified_at == datetime(2024, 6, 10, 6, 18, 20, tzinfo=UTC)


@pytest.mark.parametrize("source", [None, "", "  "])
def test_without_a_source_the_description_is_the_text(source: str | None) -> None:
    entry = _changed(source=source)
    assert (entry.text, entry.text_format) == (_LOG["description"], "plain")


@pytest.mark.parametrize(
    "created", ["1718000000.123000000", 1718000000.123, "1718000000123"]
)
def test_older_times_in_seconds_are_read_too(created: str | float) -> None:
    assert _changed(createdDate=created).entry_time == _CREATED


def test_an_owner_may_be_missing() -> None:
    assert _changed(owner=None).authors == ()


def test_text_that_looks_like_escapes_stays_as_it_was_written() -> None:
    text = "a &amp;lt; b &lt; c <b>"
    assert _changed(source=text).text == text


def test_a_payload_of_bytes_is_read_as_the_json_it_is() -> None:
    assert _parse(json.dumps(_LOG).encode()) == _parse(_LOG)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"createdDate": None}, "time_unreadable"),
        ({"createdDate": True}, "time_unreadable"),
        ({"createdDate": 10**17}, "time_out_of_range"),
        ({"createdDate": -(10**13)}, "time_out_of_range"),
        ({"tags": "RF"}, "unexpected_shape"),
        ({"tags": ["RF"]}, "unexpected_shape"),
        ({"title": {}}, "unexpected_shape"),
        ({"properties": [{"name": "x", "attributes": 1}]}, "unexpected_shape"),
    ],
)
def test_what_cannot_be_read_says_why(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(MalformedEntryError) as caught:
        _changed(**changes)
    assert caught.value.reason == reason


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@given(name=st.sampled_from(sorted(_LOG)), value=_JSON)
def test_any_value_in_any_field_is_an_entry_or_malformed(name: str, value: Any) -> None:
    try:
        assert isinstance(_changed(**{name: value}), Entry)
    except MalformedEntryError:
        assert name


@given(payload=_JSON | st.binary())
def test_any_payload_is_an_entry_or_malformed(payload: Any) -> None:
    with pytest.raises(MalformedEntryError):
        _parse(payload)
