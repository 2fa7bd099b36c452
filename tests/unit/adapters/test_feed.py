"""What the items of feeds mean, from samples written as logbooks write them."""

from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.adapter_contract.contract import RawItem, Source, SourceIO
from shared.adapter_contract.entry import Entry
from shared.errors import IngestionError, MalformedEntryError
from tests.support.linear_cost import assert_linear
from workers.adapters.feed import feed_document, feed_item
from workers.adapters.feed.feed import Feed

OPERATIONS = b"""<?xml version="1.0" encoding="UTF-8"?>
<rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/"
 xml:base="https://log.example.org/feeds/">
<channel><title>Operations</title><link>https://log.example.org/</link>
<item><title>Ops - Cryo: cold box restarted</title>
<link>https://log.example.org/e/771</link>
<pubDate>Mon, 10 Jun 2024 04:02:11 -0700</pubDate>
<description>&lt;p&gt;Turbine 2 back at 04:00&lt;/p&gt;</description>
<enclosure url="../files/trip.png" type="image/png" length="2048"/></item>
<item><title>Twice: &amp;lt;b&gt; &amp;amp; once: &amp;</title><guid>urn:x:2</guid>
<pubDate>Mon, 10 Jun 2024 04:02:11 PDT</pubDate>
<description>short</description>
<content:encoded><![CDATA[<p>see </item> &amp; <b>this</b></p>]]></content:encoded>
</item>
</channel></rss>"""
ATOM = b"""<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="de-DE">
<title>Log</title><link rel="prev-archive" href="https://log.example.org/2023.xml"/>
<entry><id>tag:log,2024:1</id><title type="html">K&amp;lt;3&lt;/b&gt;</title>
<updated>2024-06-10T05:00:00Z</updated><published>2024-06-10T04:00:00Z</published>
<author><name>Ilse Brandt</name><email>i@example.org</email></author>
<link href="/e/1"/><link rel="enclosure" href="/f/a%20b.pdf" title="Plot"/>
<category term="RF"/><category term="x" label="Vacuum"/>
<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>Gate<br/>shut</p>
</div></content></entry></feed>"""


def feed(**args: Any) -> Feed:
    source = Source("log", timezone="UTC", args=Feed.descriptor.args(**args))
    return Feed(source, cast("SourceIO", None))


def raws(document: bytes, declared: str | None = None) -> list[RawItem]:
    found = feed_document.read_document(document, declared)
    return [
        RawItem("", payload, charset=found.charset, url="https://log.example.org/feed")
        for payload in found.items
    ]


def entries(document: bytes, **args: Any) -> list[Entry]:
    return [feed(**args).parse(raw) for raw in raws(document)]


def item(inside: str) -> RawItem:
    return RawItem("x", f"<feed><item>{inside}</item></feed>".encode())


def test_an_item_of_rss_is_read_as_its_author_wrote_it():
    first, second = entries(OPERATIONS)

    assert first.external_id == "https://log.example.org/e/771"
    assert first.entry_time == datetime(2024, 6, 10, 11, 2, 11, tzinfo=UTC)
    assert (first.text, first.text_format) == ("<p>Turbine 2 back at 04:00</p>", "html")
    (file,) = first.attachments
    assert file.url == "https://log.example.org/files/trip.png"
    assert (file.filename, file.bytes) == ("trip.png", 2048)
    assert second.external_id == "urn:x:2"
    assert second.title == "Twice: &lt;b> &amp; once: &"
    assert second.text == "<p>see </item> &amp; <b>this</b></p>"
    assert second.entry_time == datetime(2024, 6, 10, 11, 2, 11, tzinfo=UTC)


def test_an_item_of_atom_keeps_both_its_times():
    (entry,) = entries(ATOM, logbook="Ring")

    assert entry.external_id == "tag:log,2024:1"
    assert entry.entry_time == datetime(2024, 6, 10, 4, tzinfo=UTC)
    assert entry.modified_at == datetime(2024, 6, 10, 5, tzinfo=UTC)
    assert entry.text.strip() == "<p>Gate<br>shut</p>"
    assert entry.authors == ("Ilse Brandt",)
    assert entry.tags == ("RF", "Vacuum")
    assert entry.logbooks == ("Ring",)
    assert entry.url == "https://log.example.org/e/1"
    assert entry.language == "de"
    assert [(one.filename, one.caption) for one in entry.attachments] == [
        ("a b.pdf", "Plot")
    ]
    assert feed_document.read_document(ATOM, None).older == (
        "https://log.example.org/2023.xml"
    )


@pytest.mark.parametrize(
    ("identity", "expected"),
    [
        ("auto", "g-1"),
        ("guid", "g-1"),
        ("link", "https://log.example.org/1"),
        ("content", "sha256:"),
    ],
)
def test_what_names_an_item_can_be_chosen(identity: Any, expected: str):
    raw = item("<guid>g-1</guid><link>https://log.example.org/1</link>")
    reading = feed_item.FeedItem.of(feed_document.read_item(raw.payload, None))

    assert feed_item.identify(reading, identity).startswith(expected)


def test_an_item_without_any_name_is_named_by_what_it_says():
    one, same, other = (
        feed_item.identify(
            feed_item.FeedItem.of(feed_document.read_item(item(inside).payload, None)),
            "auto",
        )
        for inside in ("<title>a</title>", "<title> a </title>", "<title>b</title>")
    )

    assert one == same != other
    assert len(one) == len("sha256:") + 32


@pytest.mark.parametrize(
    ("written", "expected", "flags"),
    [
        ("Mon, 10 Jun 2024 04:02:11 EST", "09:02:11", ()),
        ("Mon, 10 Jun 2024 04:02:11 XYZ", "04:02:11", ("no_zone",)),
        ("2024-06-10T04:02:11+02:00", "02:02:11", ()),
    ],
)
def test_dates_are_read_with_the_zones_that_they_name(written, expected, flags):
    entry = feed().parse(item(f"<title>t</title><pubDate>{written}</pubDate>"))

    assert entry.entry_time is not None
    assert entry.entry_time.strftime("%H:%M:%S") == expected
    assert entry.flags == flags


@pytest.mark.parametrize("written", ["soon", "Mon, 10 Jun 9999 04:02:11 GMT", "-"])
def test_a_time_that_cannot_be_read_refuses_the_item(written: str):
    with pytest.raises(MalformedEntryError):
        feed().parse(item(f"<title>t</title><pubDate>{written}</pubDate>"))


def test_entities_of_html_and_bare_ampersands_are_understood_and_said():
    entry = feed().parse(
        item(
            "<title>A&nbsp;B & C &unknown; &lt;</title>"
            "<description><![CDATA[R&D &nbsp;]]></description>"
            "<pubDate>Mon, 10 Jun 2024 04:02:11 GMT</pubDate>"
        )
    )

    assert entry.title == "A\xa0B & C &unknown; <"
    assert entry.text == "R&D &nbsp;"
    assert entry.flags == ("repaired",)


def test_references_to_what_is_no_character_are_replaced():
    entry = feed().parse(
        item(
            "<title>a&#0;b&#xD800;c&#x1F600;</title>"
            "<pubDate>Mon, 10 Jun 2024 04:02:11 GMT</pubDate>"
        )
    )

    assert entry.title == "a\ufffdb\ufffdc\N{GRINNING FACE}"
    assert entry.flags == ("repaired",)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html><body>Error</body></html>",
        b"{}",
        b"<rss><channel><item><title>cut",
        b'<!DOCTYPE rss SYSTEM "x"><rss/>',
        b"\xff\xfe<\x00r\x00",
    ],
)
def test_what_is_no_feed_is_refused(body: bytes):
    with pytest.raises(IngestionError) as caught:
        feed_document.read_document(body, None)

    assert caught.value.reason == "unexpected_shape"


def test_a_feed_without_items_is_an_empty_feed():
    assert raws(b"<rss><channel><title>New</title></channel></rss>") == []


def test_utf16_is_read_by_its_mark():
    document = OPERATIONS.decode().replace('encoding="UTF-8"', 'encoding="UTF-16"')

    first, _ = raws(document.encode("utf-16"))

    assert feed().parse(first).title == "Ops - Cryo: cold box restarted"


def test_an_entity_is_never_expanded():
    bomb = "".join(
        f'<!ENTITY a{n} "{"&a" + str(n - 1) + ";" if n else "ha"}">' for n in range(9)
    )
    payload = f"<!DOCTYPE x [{bomb}]><feed><item>&a8;</item></feed>".encode()

    with pytest.raises(MalformedEntryError):
        feed().parse(RawItem("x", payload))


@pytest.mark.requirement("B19")
@pytest.mark.parametrize(
    "hostile",
    [
        b"a" * 50_000 + b"!",
        b"<" * 50_000,
        b"&" * 50_000 + b"!",
        b"<![CDATA[" * 50_000,
        b"<!--" * 50_000,
        b"<item>" * 50_000,
        b"&#" * 50_000 + b";",
        b'<?xml encoding="' * 5_000,
        b"type" * 50_000,
    ],
)
def test_hostile_text_costs_no_time(hostile: bytes):
    def read(text: bytes) -> None:
        inside = b"<rss><channel><item>" + text + b"</item></channel></rss>"
        for document in (text, inside):
            with suppress(IngestionError):
                for raw in raws(document)[:3]:
                    feed_document.loose_identity(raw.payload)
                    feed().parse(raw)

    assert_linear(read, hostile)


@pytest.mark.parametrize("depth", [300, 10_000, 100_000])
def test_markup_of_absurd_depth_is_refused(depth: int):
    deep = "<b>" * depth + "</b>" * depth
    payload = (
        f'<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>1</id>'
        f'<content type="xhtml">{deep}</content></entry></feed>'
    ).encode()

    with pytest.raises(MalformedEntryError) as caught:
        feed().parse(RawItem("1", payload))

    assert caught.value.reason == "too_deep"


def test_a_base_that_is_no_address_changes_none():
    (raw,) = raws(ATOM)
    payload = raw.payload.replace(b"<entry>", b'<entry xml:base="http://[">')
    assert payload != raw.payload
    assert (
        feed().parse(replace(raw, payload=payload)).url == "https://log.example.org/e/1"
    )


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(raws(OPERATIONS) + raws(ATOM)),
    st.integers(0, 1200),
    st.integers(0, 1200),
    st.binary(max_size=8),
)
def test_whatever_happens_to_an_item_it_is_read_or_refused(raw, start, end, put):
    spoiled = raw.payload[:start] + put + raw.payload[end:]

    for payload in (spoiled, {"a": [1]}, None, ""):
        with suppress(MalformedEntryError):
            assert isinstance(feed().parse(replace(raw, payload=payload)), Entry)
