"""JSON files as programs really leave them: half written, replaced, packed, mixed."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from shared.errors import IngestionError
from tests.contract.reading_files import Poller
from tests.contract.stubs.generic_json import JSONDocumentStub, JSONLinesStub
from tests.contract.walking import NOON, fill
from tests.support.shared_data import LOGBOOKS, needs_shared_data
from workers.adapters.files.utf8_text import advance

STUB = JSONLinesStub


def test_a_file_that_grew_is_read_on_and_an_unchanged_one_not_at_all(stub):
    fill(stub, 5)
    polled = Poller(stub.settings(), page_size=2)
    assert polled.ids() == ["1", "2", "3", "4", "5"]
    assert polled.ids() == []
    fill(stub, 1, first=6)
    assert polled.ids() == ["6"]


def test_half_a_line_waits_until_it_is_whole(stub):
    fill(stub, 1)
    line = b'{"id": 2, "timestamp": 1718000000, "text": "Gr\xc3\xb6\xc3\x9fe"}\n'
    stub.put(line[:-8])
    polled = Poller(stub.settings())
    assert polled.ids() == ["1"]
    assert polled.ids() == []
    stub.put(line[-8:])
    assert polled.ids() == ["2"]
    assert polled.entries["2"].text == "Größe"


def test_a_last_line_that_is_whole_needs_no_end(stub):
    stub.put(b'{"id": 1, "timestamp": 1718000000, "text": "a"}')
    polled = Poller(stub.settings())
    assert polled.ids() == ["1"]
    stub.put(b'\n{"id": 2, "timestamp": 1718000000, "text": "b"}\n')
    assert polled.ids() == ["2"]


@pytest.mark.parametrize("change", ["replace", "shorten", "touch", "rewrite in place"])
def test_a_file_that_is_another_one_is_read_from_its_beginning(stub, change):
    fill(stub, 3)
    polled = Poller(stub.settings())
    assert polled.ids() == ["1", "2", "3"]
    data = stub.path.read_bytes()
    match change:
        case "replace":
            fill(stub, 1, first=4)
            stub.rewrite()
        case "shorten":
            stub.cut(len(stub.record("1")))
        case "touch":
            os.utime(stub.path, ns=(0, 1))
        case _:
            more = data.replace(b"T1", b"T7") + stub.record("1")
            stub.path.write_bytes(more)
    assert polled.ids()[0] == "1"


@pytest.mark.parametrize("kind", [JSONLinesStub, JSONDocumentStub])
def test_a_walk_goes_on_where_it_was_cut_off(make_stub, kind):
    stub = make_stub(kind=kind)
    fill(stub, 7)
    polled = Poller(stub.settings(), page_size=2)
    assert polled.ids(pages=2) == ["1", "2", "3", "4"]
    assert json.loads(json.dumps(polled.cursor)) == polled.cursor
    assert polled.ids() == ["5", "6", "7"]
    assert polled.ids() == []


@pytest.mark.parametrize(
    "data",
    [
        '[{"id": 1, "timestamp": 1718000000, "text": "a"}]',
        '{"entries": [{"id": 1, "timestamp": 1718000000, "text": "a"}]}',
        ' {\n "x": [1], "entries": [\n{"id": 1, "timestamp": 1718000000}]}',
        '{"id": 1, "timestamp": 1718000000, "entries": "three"}\n',
    ],
)
@pytest.mark.parametrize("charset", ["utf-8", "utf-8-sig", "utf-16"])
def test_every_form_of_a_file_is_recognised(data: str, charset: str, tmp_path: Path):
    (tmp_path / "log.json").write_bytes(data.encode(charset))
    polled = Poller({"adapter": "generic_json", "path": str(tmp_path)})
    assert polled.ids() == ["1"]
    assert polled.entries["1"].entry_time == datetime(
        2024, 6, 10, 6, 13, 20, tzinfo=UTC
    )


@pytest.mark.parametrize(
    "data", ["<html></html>", '{\n"error": []}', '[{"id": 1}', "7"]
)
def test_what_is_no_list_of_records_is_no_empty_source(data: str, tmp_path: Path):
    (tmp_path / "log.json").write_text(data)
    polled = Poller({"adapter": "generic_json", "path": str(tmp_path)})
    with pytest.raises(IngestionError) as caught:
        polled.poll()
    assert caught.value.reason == "unexpected_shape"


def test_a_missing_file_is_no_empty_source(tmp_path: Path):
    for path in (tmp_path / "none.jsonl", tmp_path, tmp_path / "*.jsonl"):
        polled = Poller({"adapter": "generic_json", "path": str(path)})
        with pytest.raises(IngestionError) as caught:
            polled.poll()
        assert caught.value.reason == "no_file"


def test_one_bad_line_costs_itself_and_is_told_by_its_line(tmp_path: Path):
    good = b'{"id": %d, "timestamp": 1718000000, "text": "a"}\n'
    long = b'{"id": 9, "text": "' + b"x" * 4_200_000 + b'"}\n'
    bad = [b"{broken\n", b"[1]\n", b"\n", b'{"id": {}, "timestamp": 1}\n', long]
    (tmp_path / "a.jsonl").write_bytes(good % 1 + b"".join(bad) + good % 2)
    polled = Poller({"adapter": "generic_json", "path": str(tmp_path)})
    items = polled.poll()
    assert [item.url for item in items] == [
        f"a.jsonl#line={n}" for n in (1, 2, 3, 5, 6, 7)
    ]
    assert set(polled.entries) == {"1", "2"}
    assert sorted(str(exc.reason) for exc in polled.refused.values()) == [
        *("not_json", "too_large", "wrong_type", "wrong_type")
    ]


def test_a_line_may_be_as_long_as_its_entry_may_be(tmp_path: Path):
    text = ("quench é " * 1_150_000).strip()
    record = {"id": 1, "timestamp": 1718000000, "text": text}
    lines = [json.dumps({**record, "id": n}).encode() for n in (1, 2, 3)]
    too_long = b'{"id": 4, "text": "' + b"x" * 48_000_000 + b'"}'
    (tmp_path / "a.jsonl").write_bytes(b"\n".join([*lines, too_long, b""]))
    polled = Poller({"adapter": "generic_json", "path": str(tmp_path)})
    polled.max_entry_bytes = 12_000_000

    # Each is longer than half a page's bytes: no two of them are held at once.
    assert polled.ids(pages=2) == ["1", "2"]
    polled.poll()

    assert [one.text == text for one in polled.entries.values()] == [True] * 3
    (refused,) = polled.refused.values()
    assert (refused.reason, "48000000 bytes" in refused.message) == ("too_large", True)
    # A limit that is raised has what was too long for the last one read again.
    polled.max_entry_bytes = 12_100_000
    assert polled.ids(pages=1) == ["1"]


def test_records_without_an_id_are_told_apart_by_content_and_number(stub):
    line = b'{"timestamp": 1718000000, "text": "again"}\n'
    same = b'{"text": "again", "timestamp": 1718000000}\n'
    stub.put(line + same + b'{"timestamp": 1718000000, "text": "once"}\n' + line)
    polled = Poller(stub.settings(), page_size=1)
    first, second, other, third = polled.ids()
    assert (second, third) == (f"{first}#2", f"{first}#3")
    assert len(first) == len(other) == len("sha256:") + 32
    # What has come before is counted, though it is not brought again.
    stub.put(line)
    assert polled.ids() == [f"{first}#4"]
    again = Poller(stub.settings(), page_size=1)
    assert again.ids(pages=2) == [first, second]
    assert again.ids() == [other, third, f"{first}#4"]


def test_a_packed_file_is_read_as_if_it_were_not(stub):
    fill(stub, 5)
    stub.pack()
    polled = Poller(stub.settings(), page_size=2)
    assert polled.ids(pages=1) == ["1", "2"]
    assert polled.ids() == ["3", "4", "5"]
    assert polled.ids() == []


def test_what_was_read_of_a_plain_file_is_not_read_again_to_go_on(stub):
    fill(stub, 3)
    opened = Poller(stub.settings()).open()
    (name,) = opened.io.files.names()
    with opened.io.files.open(name) as stream:
        assert stream.seekable()
        assert advance(stream, len(stub.record("1")))
        assert stream.readline() == stub.record("2")
    stub.pack()
    with opened.io.files.open(name) as stream:
        assert not stream.seekable()
        assert advance(stream, len(stub.record("1")))
        assert stream.readline() == stub.record("2")


def test_each_line_is_read_in_its_own_charset(stub):
    fill(stub, 3)
    stub.set_bytes("2", "text", b"\x93Gr\xf6\xdfe\x94")
    stub.set_bytes("3", "text", "µm".encode())
    polled = Poller(stub.settings())
    polled.poll()
    assert polled.entries["2"].text == "“Größe”"
    assert polled.entries["2"].flags == ("charset_guess",)
    assert (polled.entries["3"].text, polled.entries["3"].flags) == ("µm", ())


def test_bytes_of_another_charset_in_a_document_cost_nothing(make_stub):
    stub = make_stub(kind=JSONDocumentStub)
    fill(stub, 2)
    stub.set_bytes("2", "text", b"\x93Gr\xf6\xdfe\x94")
    polled = Poller(stub.settings())
    polled.poll()
    assert polled.entries["2"].text == "“Größe”"
    assert "charset_guess" in polled.entries["2"].flags


def test_several_files_are_read_in_their_order(tmp_path: Path):
    for name in ("b", "a", "c"):
        line = f'{{"id": "{name}", "timestamp": 1718000000, "text": "x"}}\n'
        (tmp_path / f"{name}.jsonl").write_text(line)
    polled = Poller(
        {"adapter": "generic_json", "path": str(tmp_path / "*.jsonl")}, page_size=1
    )
    assert polled.ids(pages=1) == ["a"]
    assert polled.ids() == ["b", "c"]
    (tmp_path / "d.jsonl").write_text('{"id": "d", "timestamp": 1, "text": "x"}\n')
    # What was read last before a death is read once more.
    assert polled.ids() == ["a", "d"]
    assert polled.ids() == []


def test_an_unknown_cursor_means_everything_again(stub):
    fill(stub, 2)
    polled = Poller(stub.settings())
    polled.poll()
    for odd in ({"v": 99}, {"v": 1, "file": 3}, {"v": 1, "file": "x", "mark": {}}):
        polled.cursor = odd
        assert polled.ids() == ["1", "2"]


def test_only_a_whole_snapshot_tells_of_deletions(stub):
    whole = {**stub.settings(), "args": {"complete_snapshot": True}}
    assert Poller(whole).open().capabilities.deletes == "rescan"
    assert Poller(stub.settings()).open().capabilities.deletes == "invisible"


@pytest.mark.parametrize("when", [{"days_ago": 2, "time": "06:30:00"}])
def test_a_demonstration_is_always_of_the_last_days(stub, when):
    record = {"id": 1, "when": when, "timestamp": 0, "text": "a"}
    stub.put(json.dumps(record).encode() + b"\n")
    polled = Poller(stub.settings())
    polled.clock = NOON
    polled.poll()
    # In Berlin, where it is summer.
    time = datetime(2024, 6, 8, 4, 30, tzinfo=UTC)
    assert polled.entries["1"].entry_time == time
    assert polled.entries["1"].metadata == {}


@pytest.mark.parametrize(
    "when", [{"days_ago": True}, {"days_ago": -1}, {"days_ago": 10**12}, {}, 3]
)
def test_an_odd_count_of_days_is_no_time(stub, when):
    stub.put(json.dumps({"id": 1, "when": when, "text": "a"}).encode() + b"\n")
    polled = Poller(stub.settings())
    polled.poll()
    assert str(polled.refused["1"].reason).startswith("time_")


NRC_MAP = {
    "external_id": "event_number",
    "text": "event_text",
    "title": ["facility", "category"],
    "entry_time": ["notification_date", "notification_time", "notification_timezone"],
    "event_time": ["event_date", "event_time", "event_timezone"],
    "logbooks": "category",
    "level": "emergency_class",
    "tags": "/cfr_sections/*/code",
    "url": "page_url",
}


@needs_shared_data
def test_a_year_of_real_notifications_is_read_whole():
    args = {
        "map": NRC_MAP,
        "defaults": {"kind": "incident"},
        "ignore": ["scraped_at", "html_format", "parse_warnings"],
    }
    path = LOGBOOKS / "nrc_events_1999.jsonl.gz"
    given = {"adapter": "generic_json", "path": str(path), "args": args}
    polled = Poller(given, timezone="America/New_York")
    assert len(polled.poll()) == 1354
    assert polled.refused == {}
    assert len(polled.entries) == 1354
    # In a zone that is named YDT.
    assert polled.entries["35858"].event_time is not None
    days = [one for one in polled.entries.values() if one.event_time is None]
    assert len(days) == 118
    assert all(one.kind == "incident" for one in polled.entries.values())
