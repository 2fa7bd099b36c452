"""Feeds as they are: short windows, no guid, silent edits, and rare good manners."""

import json
from datetime import timedelta
from typing import Any

import pytest

from shared.adapter_contract.contract import Source
from shared.errors import IngestionError
from tests.contract.plain_io import PlainIO
from tests.contract.stubs.feed import FeedStub
from tests.contract.walking import NOON, fill, ids, walk
from workers.adapters.feed.feed import Feed
from workers.adapters.kit.stub import StubEntry, StubFile

STUB = FeedStub


def adapter(
    stub: FeedStub,
    io: PlainIO,
    *,
    page_size: int = 500,
    read_by: str | None = None,
    **args: Any,
) -> Feed:
    given = {**stub.settings()["args"], **args}
    source = Source(
        "log",
        base_url=stub.url,
        timezone="Europe/Berlin",
        page_size=page_size,
        read_by=read_by,
        args=Feed.descriptor.args.model_validate(given),
    )
    return Feed(source, io)


@pytest.mark.parametrize("form", ["rss", "rdf", "atom"])
def test_every_linked_part_is_read_and_the_window_alone_afterwards(make_stub, io, form):
    stub = make_stub(form=form, window=15)
    known = fill(stub, 40)
    feed = adapter(stub, io)

    first = walk(feed)
    asked = len(stub.requests())
    again = walk(feed, first[-1].cursor)

    assert ids(first) == known[::-1]
    entry = feed.parse(first[0].items[0])
    # Atom says of which kind a text is; of RSS one without markup is none.
    kind = "html" if form == "atom" else "plain"
    assert (entry.title, entry.text, entry.text_format) == ("T40", "Text", kind)
    assert entry.entry_time == NOON + timedelta(minutes=40)
    assert entry.authors == ("a.author",)
    assert asked == 3
    assert ids(again) == known[:-16:-1]
    assert len(stub.requests()) == asked + 1


def test_an_unchanged_feed_costs_one_request_and_brings_nothing(make_stub, io):
    stub = make_stub()
    known = fill(stub, 5)
    feed = adapter(stub, io, read_by="one way")
    first = walk(feed)
    asked = len(stub.requests())

    second = walk(feed, first[-1].cursor)

    assert len(stub.requests()) == asked + 1
    assert ids(second) == []
    assert second[-1].cursor == first[-1].cursor
    assert second[-1].complete_to is not None
    # Read in another way, or only tried, the same feed comes whole.
    for read_by in ("another way", None):
        again = adapter(stub, io, read_by=read_by)
        assert ids(walk(again, second[-1].cursor)) == known[::-1]


def test_more_than_a_window_between_two_polls_is_a_gap(make_stub, io):
    stub = make_stub(window=15, is_paged=False)
    fill(stub, 15)
    feed = adapter(stub, io)
    first = walk(feed)
    assert first[-1].gaps == ()

    fill(stub, 15, first=16)
    overlapping = walk(feed, first[-1].cursor)
    fill(stub, 1, first=31)
    close = walk(feed, overlapping[-1].cursor)

    (gap,) = overlapping[-1].gaps
    assert gap.reason == "feed window passed"
    assert gap.start == NOON + timedelta(minutes=15)
    assert gap.end == NOON + timedelta(minutes=16)
    assert close[-1].gaps == ()


def test_a_walk_through_older_parts_is_resumed_at_any_page(make_stub, io):
    stub = make_stub(window=10)
    known = fill(stub, 30)
    feed = adapter(stub, io, page_size=4)
    whole = walk(feed)
    fill(stub, 2, first=31)

    for killed_after in range(1, len(whole)):
        cursor = json.loads(json.dumps(whole[killed_after - 1].cursor))
        later = walk(feed, cursor)
        newest = walk(feed, later[-1].cursor)
        seen = {*ids(whole[:killed_after]), *ids(later), *ids(newest)}
        assert seen >= set(known)
        assert len(seen) == 32


def test_a_document_that_is_partly_committed_comes_whole_again(make_stub, io):
    stub = make_stub()
    known = fill(stub, 9)
    feed = adapter(stub, io, page_size=2, read_by="one way")
    first = walk(feed)
    stub.edit(known[0], text="Edited")

    # Killed after its first page.
    interrupted = next(iter(feed.pages(first[-1].cursor)))
    resumed = walk(feed, interrupted.cursor)

    texts = [feed.parse(raw).text for page in resumed for raw in page.items]
    assert "Edited" in texts


def test_an_unknown_cursor_reads_everything(make_stub, io):
    stub = make_stub(window=2)
    known = fill(stub, 5)
    feed = adapter(stub, io)

    for cursor in ({"v": 99}, {"v": 1, "seen": 5, "walk": [1]}, {"v": 1, "walk": {}}):
        assert set(ids(walk(feed, cursor))) == set(known)


def test_a_tombstone_deletes_and_a_later_writing_undoes_it(make_stub, io):
    stub = make_stub(form="atom", leaves_tombstones=True)
    known = fill(stub, 3)
    feed = adapter(stub, io)
    first = walk(feed)

    stub.delete(known[1])
    second = walk(feed, first[-1].cursor)

    entries = {raw.external_id: feed.parse(raw) for raw in second[0].items}
    assert entries[known[1]].deleted
    assert not entries[known[0]].deleted


def test_items_of_different_charsets_are_read_each_by_itself(make_stub, io):
    stub = make_stub(declared="iso-8859-1")
    known = fill(stub, 3)
    stub.set_bytes(known[0], "text", "10 µm, Prüfung 😀".encode())
    stub.set_bytes(known[1], "text", "“4 €” café".encode("cp1252"))
    stub.set_bytes(known[2], "text", b"NUL \x00 and \x07 bell")
    feed = adapter(stub, io)

    read = {raw.external_id: feed.parse(raw) for raw in walk(feed)[0].items}

    assert read[known[0]].text == "10 µm, Prüfung 😀"
    assert read[known[0]].flags == ()
    assert read[known[1]].text == "“4 €” café"
    assert read[known[1]].flags == ("charset_guess",)
    assert read[known[2]].text == "NUL \ufffd and \ufffd bell"
    assert read[known[2]].flags == ("repaired",)


def test_a_text_cut_in_the_middle_of_a_character_says_so(make_stub, io):
    stub = make_stub(cut_at_bytes=21)
    stub.add(StubEntry(1, NOON, text="Prüfung der Kühlungü und mehr"))
    feed = adapter(stub, io)

    entry = feed.parse(walk(feed)[0].items[0])

    assert entry.text.startswith("Prüfung der Kühlung")
    assert "truncated_by_source" in entry.flags


@pytest.mark.parametrize(
    ("text", "is_html"),
    [
        ("Pump tripped, I < 5 A & rising\nsee below", False),
        ("[b]Tripped[/b] at 06:05\n", False),
        ("<p>Tripped</p>", True),
        ("Above 4 &mu;A", True),
    ],
)
def test_a_text_without_markup_keeps_its_lines(make_stub, io, text, is_html):
    stub = make_stub(is_plain=True)
    stub.add(StubEntry(1, NOON, text=text))
    feed = adapter(stub, io)

    entry = feed.parse(walk(feed)[0].items[0])

    assert entry.text == text.strip()
    assert entry.text_format == ("html" if is_html else "plain")


def test_enclosures_become_attachments_with_absolute_addresses(make_stub, io):
    stub = make_stub()
    files = (
        StubFile("shot 1.png", b"png"),
        StubFile("../up.png", b"up"),
        StubFile("far.png", b"far", foreign=True),
    )
    stub.add(
        StubEntry(1, NOON, files=files, tags=("Cryo", "RF"), metadata={"run": "7"})
    )
    feed = adapter(stub, io)

    entry = feed.parse(walk(feed)[0].items[0])

    assert [ref.filename for ref in entry.attachments] == [
        "shot 1.png",
        "../up.png",
        "far.png",
    ]
    assert entry.attachments[0].bytes == 3
    assert entry.attachments[2].url == "http://files.example.org/elsewhere/far.png"
    assert entry.tags == ("Cryo", "RF")
    assert entry.metadata == {"run": "7"}


@pytest.mark.parametrize(
    ("fault", "reason"),
    [("html_error", "unexpected_shape"), ("login_page", "login_required")],
)
def test_a_page_for_people_is_no_empty_feed(make_stub, io, fault, reason):
    stub = make_stub()
    fill(stub, 3)
    stub.fault(fault)

    with pytest.raises(IngestionError) as caught:
        walk(adapter(stub, io))

    assert caught.value.reason == reason


def test_a_feed_that_is_cut_off_is_a_failed_fetch(make_stub, io):
    stub = make_stub()
    fill(stub, 9)
    stub.fault("cut_listing")

    with pytest.raises(IngestionError) as caught:
        walk(adapter(stub, io))

    assert caught.value.reason == "unexpected_shape"


@pytest.mark.parametrize(
    "prolog",
    [
        b'<!DOCTYPE rss [<!ENTITY a "b">]>',
        b'<!DOCTYPE rss SYSTEM "http://127.0.0.1/dtd">',
        b'<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]>',
    ],
)
def test_document_types_are_refused_whatever_they_declare(make_stub, io, prolog):
    stub = make_stub()
    fill(stub, 1)
    stub.prolog = prolog

    with pytest.raises(IngestionError) as caught:
        walk(adapter(stub, io))

    assert caught.value.reason == "unexpected_shape"
    assert len(stub.requests()) == 1


def test_its_software_is_recognised_and_checked(make_stub, io):
    stub = make_stub(is_paged=False)
    fill(stub, 20)

    recognised = Feed.recognise(stub.url, io)
    report = adapter(stub, io).check()

    assert recognised is not None
    assert recognised.settings == {"adapter": "feed", "base_url": stub.url}
    assert report.newest == NOON + timedelta(minutes=20)
    assert report.entries == 15
    assert "newest 15 items only" in report.problems[0]
    stub.fault("html_error")
    assert Feed.recognise(stub.url, io) is None
