"""What makes a draft a new revision, and what only changes its row."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.adapter_contract import payload_codec
from shared.adapter_contract.contract import RawItem
from shared.adapter_contract.entry import AttachmentRef
from shared.entries.draft import EntryDraft
from shared.entries.saving.change_detection import EntryFingerprint, News, Step
from shared.ids import uuid7

THEN = datetime(2024, 5, 14, 6, 12, tzinfo=UTC)
DRAFT = EntryDraft("olog", "1", "RF trip", title="RF", entry_time=THEN)
FILE = AttachmentRef("1", "pump.png", "/1", bytes=10)

CONTENT: list[dict[str, Any]] = [
    {"title": "R"},
    {"text": "RF  trip"},
    {"text_format": "html"},
    {"authors": ("jo",)},
    {"logbooks": ("Ops",)},
    {"entry_time": THEN + timedelta(seconds=1)},
    {"event_time": THEN},
    {"kind": "incident"},
    {"shift": "OWL"},
    {"level": "Problem"},
    {"category": "RF"},
    {"tags": ("RF",)},
    {"metadata": {"a": "b"}},
    {"language": "de"},
    {"reply_to": "2"},
    {"thread_key": "k"},
    {"supersedes": "2"},
    {"related": ("2",)},
    {"attachments": (FILE,)},
]
ASIDE: list[dict[str, Any]] = [
    {"url": "https://log.example.org/1"},
    {"origin": "machine"},
    {"readers": ()},
    {"readers": ("jo",)},
    {"visible_from": THEN},
    {"flags": ("repaired",)},
    {"text_flags": ("repaired",)},
]
FACTS: list[dict[str, Any]] = [
    {"version": "2"},
    {"modified_at": THEN},
    {"stamp": "s"},
    {"parsed_by": 2},
]
UNTOLD: list[dict[str, Any]] = [{"editor": "jo"}, {"raw": RawItem("1", {})}]


def stored(draft: EntryDraft, **fields: Any) -> EntryFingerprint:
    row = EntryFingerprint(
        id=uuid7(),
        source=draft.source,
        external_id=draft.external_id,
        revision=1,
        content_hash=draft.content_hash(),
        aside_hash=draft.aside_hash(),
        entry_time=THEN,
        deleted=False,
        delete_reason=None,
        version=draft.version,
        modified_at=draft.modified_at,
        stamp=draft.stamp,
        parsed_by=draft.parsed_by,
        missing=False,
        thread_id=None,
        thread_key=None,
    )
    return row._replace(**fields)


def step(changes: dict[str, Any], **fields: Any) -> Step:
    return News.of(replace(DRAFT, **changes), THEN).step(stored(DRAFT, **fields))


@pytest.mark.parametrize("changes", CONTENT, ids=str)
def test_content_is_a_revision(changes):
    assert step(changes) is Step.REVISION


@pytest.mark.parametrize("changes", ASIDE, ids=str)
def test_rights_address_origin_and_flags_change_the_row_alone(changes):
    assert step(changes) is Step.ASIDE


@pytest.mark.parametrize("changes", FACTS, ids=str)
def test_what_only_the_source_counts_is_noted(changes):
    assert step(changes) is Step.FACTS


@pytest.mark.parametrize("changes", [{}, *UNTOLD], ids=str)
def test_the_rest_is_nothing(changes):
    assert step(changes) is Step.NOTHING


def test_an_entry_that_is_listed_again_is_noted():
    assert step({}, missing=True) is Step.FACTS


def test_where_a_file_lies_is_no_content_and_its_size_is():
    one = replace(DRAFT, attachments=(FILE,))
    moved = replace(DRAFT, attachments=(replace(FILE, url="/2", caption="x"),))
    grown = replace(DRAFT, attachments=(replace(FILE, bytes=11),))

    assert one.content_hash() == moved.content_hash()
    assert one.content_hash() != grown.content_hash()


def test_the_same_moment_in_another_zone_is_the_same():
    zone = timezone(timedelta(hours=2))
    moved = replace(DRAFT, entry_time=THEN.astimezone(zone))

    assert moved.content_hash() == DRAFT.content_hash()


def test_the_order_of_readers_and_of_metadata_says_nothing():
    one = replace(DRAFT, readers=("a", "b"), metadata={"x": "1", "y": "2"})
    other = replace(DRAFT, readers=("b", "a"), metadata={"y": "2", "x": "1"})

    assert one.content_hash() == other.content_hash()
    assert one.aside_hash() == other.aside_hash()


@given(title=st.text(max_size=5), text=st.text(max_size=5), cut=st.integers(0, 5))
def test_no_border_between_title_and_text_can_be_moved(title, text, cut):
    whole = title + text
    moved = replace(DRAFT, title=whole[:cut], text=whole[cut:])
    given_ = replace(DRAFT, title=title, text=text)

    same = (moved.title, moved.text) == (given_.title, given_.text)
    assert (moved.content_hash() == given_.content_hash()) is same


ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=4)
MAYBE = st.none() | ANY_TEXT
SEVERAL = st.lists(ANY_TEXT, max_size=3).map(tuple)
SOME_TIME = st.datetimes(timezones=st.timezones())
FILES = st.builds(
    AttachmentRef, ANY_TEXT, ANY_TEXT, bytes=st.none() | st.integers(0, 9)
)


@given(
    draft=st.builds(
        EntryDraft,
        *(ANY_TEXT, ANY_TEXT, ANY_TEXT),
        **dict.fromkeys(("authors", "logbooks", "tags", "related"), SEVERAL),
        **dict.fromkeys(("shift", "level", "category", "language"), MAYBE),
        **dict.fromkeys(("reply_to", "thread_key", "supersedes"), MAYBE),
        **dict.fromkeys(("entry_time", "event_time"), st.none() | SOME_TIME),
        metadata=st.dictionaries(ANY_TEXT, ANY_TEXT | st.integers(), max_size=3),
        attachments=st.lists(FILES, max_size=2).map(tuple),
    )
)
def test_the_fields_of_a_revision_are_json_with_its_keys_in_order(draft):
    names = (
        *("authors", "category", "kind", "language", "level", "logbooks", "metadata"),
        *("related", "reply_to", "shift", "supersedes", "tags", "thread_key"),
    )
    times = {
        name: value.astimezone(UTC).isoformat() if value else None
        for name in ("entry_time", "event_time")
        for value in [getattr(draft, name)]
    }
    files = [[one.id, one.filename, one.bytes] for one in draft.attachments]
    whole = {name: getattr(draft, name) for name in names}
    whole |= {**times, "attachments": files}

    encoded = json.dumps(whole, sort_keys=True, separators=(",", ":"))
    assert draft.canonical_fields() == encoded


def test_what_is_made_before_the_transaction_is_what_is_made_within():
    raw = RawItem("1", {"a": 1})
    draft = replace(DRAFT, text="<p>RF</p>", text_format="html", raw=raw)
    made = replace(draft).prepare()

    assert made.hashed() == draft.hashed()
    assert made.plain() == draft.plain() == "RF"
    assert made.packed() == payload_codec.pack({"a": 1})
    assert made == draft


def test_a_draft_that_gets_its_time_late_is_hashed_with_it():
    late = replace(DRAFT, entry_time=None, raw=RawItem("1", b"x")).prepare()

    assert late.at(THEN).hashed() == DRAFT.hashed()
    assert late.at(THEN).packed() == payload_codec.pack(b"x")


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=())),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(payload=st.binary(max_size=50) | JSON)
def test_what_was_received_comes_back_equal(payload):
    assert payload_codec.unpack(payload_codec.pack(payload)) == payload
