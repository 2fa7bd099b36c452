"""What one message of an ELOG says, however its block has reached us."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shared.adapter_contract.contract import RawItem, Source
from shared.adapter_contract.entry import Entry
from shared.errors import MalformedEntryError
from tests.support.linear_cost import assert_linear
from workers.adapters.elog import message_block
from workers.adapters.elog.message_block import ElogArgs, MessageOrigin

_BLOCK = b"""$@MID@$: 512
Date: Tue, 14 May 2024 06:12:09 +0200
Reply to: 514,515
In reply to: 498
Author: Ilse Brandt, R. Kunz
Type: Fault
Station: Vacuum | Injection
Subject: ION PUMP: sector 7: trip
Empty:\x20
Attachment: 240514_061209_pump7.png,240514_061209_log.txt
Encoding: ELCode
========================================
Pump tripped at [b]06:05[/b], see elog:498 and elog:Shift-Log/9
========================================
"""
_SOURCE = Source(name="elog", timezone="Europe/Zurich")
_PLACE = MessageOrigin("Operations", "https://elog.example.org/Operations")


def _parse(block: Any, place: MessageOrigin = _PLACE, **args: Any) -> Entry:
    raw = RawItem("Operations/512", block, charset="ISO-8859-1")
    return message_block.parse(raw, _SOURCE, ElogArgs(**args), place)


def _with(old: bytes, new: bytes, **args: Any) -> Entry:
    assert old in _BLOCK
    return _parse(_BLOCK.replace(old, new), **args)


def test_a_block_becomes_an_entry_with_everything_it_says() -> None:
    entry = _parse(_BLOCK)
    assert entry.external_id == "Operations/512"
    assert entry.entry_time == datetime(2024, 5, 14, 4, 12, 9, tzinfo=UTC)
    assert entry.title == "ION PUMP: sector 7: trip"
    assert entry.authors == ("Ilse Brandt", "R. Kunz")
    assert entry.tags == ("Fault",)
    assert entry.metadata == {"Station": "Vacuum | Injection"}
    assert entry.text_format == "elcode"
    assert entry.text.startswith("Pump tripped at [b]06:05[/b]")
    assert entry.text.endswith("\n" + 40 * "=")
    assert entry.reply_to == "Operations/498"
    assert entry.related == ("Operations/498", "Shift-Log/9")
    assert entry.url == "https://elog.example.org/Operations/512"
    assert entry.readers is None
    png, txt = entry.attachments
    assert png.url == "https://elog.example.org/Operations/240514_061209/pump7.png"
    assert (txt.id, txt.filename) == ("240514_061209_log.txt", "log.txt")


def test_carriage_returns_of_the_way_make_no_other_entry() -> None:
    bulk = _BLOCK.replace(b"\n", b"\r\n")
    assert _parse(bulk) == _parse(_BLOCK)
    (one,), (other,) = message_block.split(bulk), message_block.split(_BLOCK)
    assert one.stamp == other.stamp


def test_a_reply_to_it_leaves_an_entry_as_it_was() -> None:
    assert _with(b"Reply to: 514,515\n", b"") == _parse(_BLOCK)


@pytest.mark.parametrize("parent", [b"0", b"", b"none"])
def test_no_parent_is_none(parent: bytes) -> None:
    assert _with(b"In reply to: 498", b"In reply to: " + parent).reply_to is None


def test_older_dates_are_read_in_the_zone_of_the_source() -> None:
    entry = _with(b"Tue, 14 May 2024 06:12:09 +0200", b"Fri May 03 09:15:00 2002")
    assert entry.entry_time == datetime(2002, 5, 3, 7, 15, tzinfo=UTC)


def test_attributes_become_what_the_settings_say() -> None:
    entry = _with(
        b"Empty:\x20",
        b"When: 1715659200\nSeverity: high",
        attributes={
            "station": "tags",
            "Severity": "level",
            "when": "event_time",
            "Type": "category",
        },
        author_separator="",
    )
    assert (entry.tags, entry.level) == (("Vacuum", "Injection"), "high")
    assert entry.category == "Fault"
    assert entry.event_time == datetime(2024, 5, 14, 4, tzinfo=UTC)
    assert entry.metadata["Subject"] == "ION PUMP: sector 7: trip"


def test_dates_stored_as_numbers_are_shown_as_dates_where_they_are_named() -> None:
    entry = _with(b"Empty:\x20", b"Due: 1715659200", date_attributes=("due",))
    assert entry.metadata["Due"] == "2024-05-14T04:00:00+00:00"


def test_each_value_is_read_in_its_own_charset() -> None:
    mixed = _BLOCK.replace(b"Ilse", "Jürg".encode()).replace(b"[/b]", b"[/b] 5 \x80")
    entry = _parse(mixed)
    assert entry.authors[0] == "Jürg Brandt"
    assert "5 €" in entry.text
    assert entry.flags == ("charset_guess",)
    # What has marks in ASCII is in no charset of wider letters, whatever is declared.
    wide = RawItem("Operations/512", mixed.replace(b"ION", b"\xc4ON"), charset="UTF-16")
    entry = message_block.parse(wide, _SOURCE, ElogArgs(), _PLACE)
    assert entry.title == "ÄON PUMP: sector 7: trip"


def test_what_the_charset_lacked_is_read_back_except_in_html() -> None:
    plain = b"10 &#8364; &amp;lt; &lt; &#60; &#1;"
    assert _with(b"Pump", plain).text.startswith("10 € &amp;lt; &lt; &#60; &#1;")
    html = _BLOCK.replace(b"ELCode", b"HTML").replace(b"Pump", plain)
    assert _parse(html).text.startswith(plain.decode())


def test_whoever_may_read_a_book_comes_from_the_settings() -> None:
    readers = {"Operations": None, "Private": ("ana",)}
    assert _parse(_BLOCK, readers=readers).readers is None
    private, other = MessageOrigin("Private", None), MessageOrigin("Other", None)
    assert _parse(_BLOCK, private, readers=readers).readers == ("ana",)
    assert _parse(_BLOCK, other, readers=readers).readers == ()
    assert _parse(_BLOCK, MessageOrigin("Other", None, restricted=True)).readers == ()


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (b"Date: Tue, 14 May 2024 06:12:09 +0200", b"Date: soon", "time_unreadable"),
        (b"2024", b"9999", "time_out_of_range"),
        (b"=" * 40, b"=" * 39, "no_separator"),
        (b"Encoding: ELCode", b"Encoding ELCode", "odd_head"),
        (b"Encoding: ELCode", b"Draft: ana", "pending"),
    ],
)
def test_what_cannot_be_read_says_why(old: bytes, new: bytes, reason: str) -> None:
    with pytest.raises(MalformedEntryError) as caught:
        _with(old, new)
    assert caught.value.reason == reason


def test_a_message_begins_at_its_mark_and_not_where_a_text_quotes_one() -> None:
    quoting = _BLOCK + b"see $@MID@$: 9\n$@MID@$: 9 was good\n$@MID@$: 9\nquoted\n"
    data = quoting + _BLOCK.replace(b"512", b"513") + b"$@MID@$: 514\nDate: soon\n"
    blocks = message_block.split(b"stray\n" + data)
    assert [block.mid for block in blocks] == [512, 513, 514]
    assert blocks[0].data == quoting


def test_a_text_is_whole_when_its_last_message_has_ended() -> None:
    def is_whole(data: bytes) -> bool:
        return message_block.is_whole(data, message_block.split(data))

    assert is_whole(_BLOCK)
    assert is_whole(_BLOCK + b"$@MID@$: 9 quoted\n")
    assert not is_whole(b"")
    assert not is_whole(_BLOCK[:-1])
    assert not is_whole(b"\n" + _BLOCK)
    assert not is_whole(_BLOCK + b"$@MID@$: 513\nDate: Tue, 14 May 2024\n")


def test_messages_are_split_and_parsed_in_proportion_to_their_number() -> None:
    def read(numbers: tuple[int, ...]) -> None:
        data = b"".join(_BLOCK.replace(b"512", b"%d" % mid) for mid in numbers)
        blocks = message_block.split(data)
        assert len([_parse(block.data) for block in blocks]) == len(numbers)

    assert_linear(read, tuple(range(1, 2001)))


@pytest.mark.requirement("B19")
@pytest.mark.parametrize(
    "text",
    [
        b"a" * 50_000 + b"!",
        b"elog:" * 10_000,
        b"elog:" + b"a" * 50_000 + b"!",
        b"$@MID@$: 1\n" * 5_000,
        b"\r" * 50_000 + b"!",
        b"&#" * 25_000,
        b"=" * 50_000,
    ],
)
def test_hostile_texts_are_read_in_linear_time(text: bytes) -> None:
    def read(text: bytes) -> None:
        message_block.split(_BLOCK + text)
        _parse(_BLOCK + text)

    assert_linear(read, text)


def test_a_megabyte_of_keys_and_text_is_parsed_in_linear_time() -> None:
    def message(keys: int) -> bytes:
        many = b"".join(b"Key %d: value\n" % number for number in range(keys))
        text = b"text \xe9 " * (13 * keys)
        return _BLOCK.replace(b"Encoding", many + b"Encoding") + text

    large = message(10_000)
    assert len(_parse(large).metadata) == 10_001
    assert_linear(_parse, large, message(5_000))


@given(data=st.binary(max_size=200), at=st.integers(0, len(_BLOCK)))
@example(data=b"", at=0)
def test_any_bytes_are_an_entry_or_malformed(data: bytes, at: int) -> None:
    damaged = _BLOCK[:at] + data + _BLOCK[at + len(data) :]
    for payload in (data, damaged, _BLOCK[:at], damaged.decode("latin-1")):
        message_block.split(damaged)
        try:
            assert isinstance(_parse(payload), Entry)
        except MalformedEntryError:
            assert payload is not None


@pytest.mark.parametrize("payload", [None, 7, [], {"a": "b"}, "text"])
def test_a_payload_of_another_kind_is_malformed(payload: Any) -> None:
    with pytest.raises(MalformedEntryError):
        _parse(payload)
