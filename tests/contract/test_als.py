"""The ALS eLog's ways: JSON as HTML, a page for nothing, windows that take too long."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from shared.adapter_contract.contract import RawItem, Window
from shared.errors import IngestionError, MalformedEntryError, SourceUnreachableError
from shared.text import plain_text
from tests.contract.reading_files import Poller
from tests.contract.stubs.als import AlsStub
from tests.contract.walking import fill
from tests.support.linear_cost import assert_linear
from workers.adapters.kit.stub import StubEntry

START = datetime(2024, 6, 10, 4, 0, tzinfo=UTC)
STUB = AlsStub
RECORD: dict[str, Any] = {
    "id": "20417",
    "timestamp": "1718001234",
    "author": "rpatel",
    "subject": "BL 7.3 shutter stuck",
    "details": "Shutter PSS12 did not close.\nReset from rack.",
    "category": "Beamlines, Safety,,",
    "tag": "0",
    "linkedto": "20398",
    "level": "entry",
    "attachments": [{"url": "attachments\\2024//06/pss12.jpg"}],
}


def polled(stub: AlsStub, **more: Any) -> Poller:
    return Poller(stub.settings(), history_start="2024-01-01", **more)


def read(args: dict[str, Any] | None = None, **changes: Any) -> Any:
    given = {"adapter": "als", "base_url": "https://elog.test/php/data.php"}
    item = RawItem("20417", {**RECORD, **changes})
    return Poller(given, args=args or {}).open().adapter.parse(item)


def test_a_record_is_read_as_its_logbook_means_it():
    entry = read()
    assert entry.entry_time == datetime(2024, 6, 10, 6, 33, 54, tzinfo=UTC)
    assert entry.authors == ("rpatel",)
    assert (entry.tags, entry.reply_to) == (("Beamlines", "Safety"), "20398")
    assert (entry.kind, entry.metadata) == ("logbook", {})
    (file,) = entry.attachments
    assert (file.filename, file.url) == (
        *("pss12.jpg", "https://elog.test/attachments/2024/06/pss12.jpg"),
    )


def test_zero_is_no_tag_and_no_parent_and_a_summary_is_of_its_kind():
    entry = read(tag="1184", linkedto="0", level="shift_summary", author=None)
    assert entry.metadata == {"loto_tag": "1184"}
    assert (entry.reply_to, entry.kind) == (None, "shift_summary")
    assert (entry.level, entry.authors) == ("shift_summary", ())


@pytest.mark.parametrize(
    ("details", "said"),
    [
        ("Retuned&lt;br /&gt;Beam back at 400 mA", "Retuned\nBeam back at 400 mA"),
        ("&lt;p&gt;Below &amp;lt; 2e-9&amp;nbsp;Torr&lt;/p&gt;", "Below < 2e-9 Torr"),
        ("<![CDATA[<html><div>Test, disregard</div></html>]]>", "Test, disregard"),
        ("See &lt;a href=\\&quot;https://t.test/7\\&quot;&gt;7&lt;/a&gt;", "See 7"),
        ("Orbit x<y, R&D\n  tune 5 < 6", "Orbit x<y, R&D\n  tune 5 < 6"),
        ("Below &lt; 5 A\nReset.", "Below < 5 A\nReset."),
        (r"It didn\'t trip on \"I\".", 'It didn\'t trip on "I".'),
        (r"He didn\\\'t.", "He didn't."),
        (r"Saved to Z:\\ops\\new.vi, C:\temp", r"Saved to Z:\ops\new.vi, C:\temp"),
    ],
)
def test_a_text_is_as_it_was_written_before_the_logbook_escaped_it(details, said):
    entry = read(details=details)
    assert plain_text.to_plain(entry.text, entry.text_format).startswith(said)
    # Whoever says how texts are marked up has them as they come.
    asked = read(details=details, args={"text_format": "markdown"})
    assert (asked.text, asked.text_format) == (details, "markdown")


@pytest.mark.parametrize(
    ("subject", "said"),
    [
        ("Vacuum &amp;amp; RF", "Vacuum & RF"),
        (r"Spot \&quot;smeared\&quot;", 'Spot "smeared"'),
        (r"It won\'t", "It won't"),
        ("R&D: x<y", "R&D: x<y"),
    ],
)
def test_a_title_is_as_it_was_written(subject, said):
    assert read(subject=subject).title == said


@pytest.mark.requirement("B19")
def test_a_row_of_backslashes_is_read_in_linear_time():
    assert_linear(lambda text: read(details=text, subject=text), "\\" * 20_000)


@pytest.mark.parametrize("stamp", ["soon", None, {}, True, "99999999999999"])
def test_a_bad_time_costs_its_entry_and_is_never_now(stamp):
    with pytest.raises(MalformedEntryError) as caught:
        read(timestamp=stamp)
    assert str(caught.value.reason).startswith("time_")


def test_windows_share_their_edges_and_nothing_is_lost_between(stub):
    fill(stub, 29, start=START, step=timedelta(days=1))
    found = polled(stub, args={"chunk_days": 7}, page_size=3)
    ids = found.ids()
    assert list(dict.fromkeys(ids)) == [str(number) for number in range(1, 30)]
    assert found.ids() == []
    stub.add(StubEntry(31, datetime.now(UTC)))
    assert found.ids() == ["31"]
    # What is younger than the overlap comes again.
    assert found.ids() == ["31"]


def test_an_empty_page_is_nothing_and_any_other_page_is_a_failure(stub):
    found = polled(stub)
    assert found.ids() == []
    cursor = found.cursor
    for mode in ("html_error", "login_page"):
        stub.fault(mode, times=2)
        with pytest.raises(IngestionError):
            found.poll()
        assert found.cursor == cursor
    stub.add(StubEntry(1, datetime.now(UTC)))
    stub.fault("cut_listing", times=2)
    with pytest.raises(IngestionError) as caught:
        found.poll()
    assert caught.value.reason == "unexpected_shape"
    assert found.ids() == ["1"]


def test_a_failed_window_ends_the_run_before_it(stub):
    for number in (10, 100):
        stub.add(StubEntry(number, START + timedelta(days=number)))
    day = int((START + timedelta(days=60)).timestamp())
    stub.broken = (day, day + 1)
    found = polled(stub, args={"chunk_days": 30}, max_retries=0)
    with pytest.raises(SourceUnreachableError):
        found.poll()
    assert set(found.entries) == {"10"}
    assert found.cursor is not None
    assert found.cursor["at"] <= day
    stub.broken = None
    assert "100" in found.ids()


def test_a_window_that_takes_too_long_is_halved(stub):
    fill(stub, 8, start=START, step=timedelta(days=1))
    stub.most = 3
    found = polled(stub, max_retries=0, request_timeout_seconds=0.3)
    asked = Window(START, START + timedelta(days=10))
    assert sorted(set(found.ids(window=asked)), key=int) == [
        str(number) for number in range(1, 9)
    ]
    spans = [_span(target) for target in stub.requests()]
    assert spans[0] > max(spans[1:])


def test_a_window_is_stayed_within_and_gone_on_with(stub):
    fill(stub, 8, start=START, step=timedelta(days=1))
    found = polled(stub, args={"chunk_days": 2})
    asked = Window(START + timedelta(days=2), START + timedelta(days=6))
    assert found.ids(window=asked, pages=1) == ["2", "3", "4"]
    assert found.ids(window=asked) == ["4", "5", "6"]


def test_a_file_of_the_same_records_is_read_alike(tmp_path):
    path = tmp_path / "elog.jsonl"
    path.write_text(json.dumps(RECORD) + "\n{spoilt\n")
    found = Poller({"adapter": "als_logbook", "path": str(path)})
    assert len(found.poll()) == 2
    entry = found.entries["20417"]
    assert entry.title == "BL 7.3 shutter stuck"
    assert entry.attachments[0].url is None
    assert not found.open().capabilities.windows


def test_a_line_that_is_too_long_says_so(tmp_path):
    path = tmp_path / "elog.jsonl"
    path.write_bytes(b'{"id": "1", "details": "' + b"x" * 4_300_000 + b'"}\n')
    for adapter in ("als_logbook", "jlab_logbook"):
        found = Poller({"adapter": adapter, "path": str(path)})
        found.poll()
        (refused,) = found.refused.values()
        assert (refused.reason, "bytes" in refused.message) == ("too_large", True)


def test_an_unknown_cursor_goes_back_to_where_reconciling_begins(stub):
    now = datetime.now(UTC)
    stub.add(StubEntry(1, now - timedelta(days=100)))
    stub.add(StubEntry(2, now - timedelta(days=10)))
    found = polled(stub)
    found.cursor = {"v": 2, "at": "then"}
    assert found.ids() == ["2"]


def _span(target: str) -> int:
    asked = parse_qs(urlsplit(target.partition(" ")[2]).query)
    return int(asked["end"][0]) - int(asked["start"][0])
