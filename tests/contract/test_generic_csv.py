"""CSV files as spreadsheets, databases and people write them."""

import csv
import io
import os
import tracemalloc
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.adapter_contract.entry import Entry
from shared.errors import IngestionError
from tests.contract.reading_files import Poller
from tests.contract.walking import NOON
from tests.support.shared_data import LOGBOOKS, needs_shared_data
from workers.adapters.files.csv_rows import CSVForm, Dialect
from workers.adapters.files.file_progress import FileMark

COLUMNS = {"entry_time": "Opened", "title": "Short text", "category": "Unit"}
HEAD = b"Opened,Unit,Short text,Cost\n"


def polled(folder: Path, data: bytes, **args: Any) -> Poller:
    (folder / "orders.csv").write_bytes(data)
    given = {"columns": COLUMNS, "day_first": True, **args}
    source = {"adapter": "generic_csv", "path": str(folder), "args": given}
    found = Poller(source, timezone="Australia/Perth")
    found.poll()
    return found


def only(found: Poller) -> Entry:
    (entry,) = found.entries.values()
    return entry


def test_a_row_is_an_entry_and_unmapped_columns_are_metadata(tmp_path):
    row = b'13/09/2023,C,"L/H boom hose leaking, refit",182.50\n'
    entry = only(polled(tmp_path, HEAD + row))
    assert entry.entry_time == datetime(2023, 9, 12, 16, 0, tzinfo=UTC)
    assert entry.title == "L/H boom hose leaking, refit"
    assert entry.category == "C"
    assert entry.metadata == {"Cost": "182.50"}


@pytest.mark.parametrize(
    ("cell", "title"),
    [
        (b'"two\r\nlines"', "two\r\nlines"),
        (b'"say ""no"" twice"', 'say "no" twice'),
        (b'3" pipe', '3" pipe'),
        (b'"lone', '"lone'),
        (b'"X" OVER FILTER', '"X" OVER FILTER'),
        (b'"a, b" c', "a, b c"),
        (b'\\O"', '\\O"'),
        (b"a<br/>b", "a<br/>b"),
        (b"U\xef\xbf\xbdC", "U\ufffdC"),
        (b"\xb5 and \x80", "µ and €"),
    ],
)
def test_quotes_that_mean_nothing_stay_as_they_are(cell, title, tmp_path):
    rows = b"13/09/2023,C," + cell + b",1\n14/09/2023,C,next,2\n"
    found = polled(tmp_path, HEAD + rows)
    assert found.refused == {}
    assert [entry.title for entry in found.entries.values()] == [title, "next"]


def test_a_row_with_the_wrong_fields_is_put_aside_with_its_line(tmp_path):
    rows = (
        b"13/09/2023,C,good,1\n\n",
        b"13/09/2023,C,won,t swing,PM01\n",
        b"13/09/2023,C\n",
        b"13/09/2023,C,short,PM01\n",
        b" Opened , Unit,'Short text',Cost\n",
        b"13/09/2023,C,good too,-2,,\n",
    )
    found = polled(tmp_path, HEAD + b"".join(rows), types={"Cost": "number"})
    assert [one.title for one in found.entries.values()] == ["good", "good too"]
    assert [(one.reason, one.message) for one in found.refused.values()] == [
        ("field_count", "Line 4 has not the fields of its header."),
        ("field_count", "Line 5 has not the fields of its header."),
        ("wrong_type", "'Cost' in line 6 is no number."),
    ]


def test_a_row_may_be_as_long_as_its_entry_may_be(tmp_path):
    text = ("quench again " * 800_000).strip()
    row = f'13/09/2023,C,{text},1\n13/09/2023,C,"{text}, and on",2\n'.encode()
    (tmp_path / "orders.csv").write_bytes(HEAD + row)
    given = {"columns": {**COLUMNS, "text": "Short text"}, "day_first": True}
    source = {"adapter": "generic_csv", "path": str(tmp_path), "args": given}
    found = Poller(source, timezone="Australia/Perth")
    found.poll()
    assert {one.reason for one in found.refused.values()} == {"too_large"}
    assert "4194304 bytes" in next(iter(found.refused.values())).message

    found.max_entry_bytes = 12_000_000
    found.poll()

    assert [len(one.text) for one in found.entries.values()] == [
        len(text),
        len(text) + len(", and on"),
    ]


def test_a_quoted_field_may_have_any_number_of_lines(tmp_path):
    text = "\n".join(f'{n}: 3"" pipe, moved' for n in range(20_000))
    rows = f'13/09/2023,C,"{text}",1\n14/09/2023,C,next,2\n'.encode()
    found = polled(tmp_path, HEAD + rows)
    assert found.refused == {}
    titles = [entry.title for entry in found.entries.values()]
    assert titles == [text.replace('""', '"'), "next"]


def test_a_quote_that_is_never_closed_costs_its_own_line_alone(tmp_path):
    # Each would be a row, also between two quotes of which neither is the other's.
    rows = [f"14/09/2023,C,row {n},{n}\n" for n in range(2000)]
    rows[2] = '14/09/2023,C,"lone,2\n'
    rows[900] = '14/09/2023,C,5",900\n'
    rows[1200] = '14/09/2023,"open\n'
    rows[1201] = "x" * 5_000_000 + "\n"
    found = polled(tmp_path, (HEAD.decode() + "".join(rows)).encode())
    titles = [entry.title for entry in found.entries.values()]
    assert len(titles) == 1998
    assert titles[:4] == ["row 0", "row 1", '"lone', "row 3"]
    assert titles[899:902] == ["row 899", '5"', "row 901"]
    assert {one.message for one in found.refused.values()} == {
        "Line 1202 has not the fields of its header.",
        "Line 1203 is longer than 4194304 bytes.",
    }


@pytest.mark.parametrize(
    "row", ["14/09/2023,C,row {},{},\n", "14/09/2023,C,a, b {},{}\n"]
)
def test_a_lone_quote_takes_in_no_rows_with_more_columns_than_the_header(tmp_path, row):
    rows = [row.format(n, n) for n in range(1000)]
    rows[2] = '14/09/2023,C,"lone,2\n'
    rows[900] = '14/09/2023,C,5",900\n'
    found = polled(tmp_path, (HEAD.decode() + "".join(rows)).encode())
    assert len(found.entries) + len(found.refused) == 1000


def test_what_follows_an_open_quote_is_held_as_bytes_and_read_on(tmp_path):
    most = 100_000
    blank = b'1,"open,3\n' + b"\n" * 2 * most + b'2,"x",y\n'
    (tmp_path / "a.csv").write_bytes(b"a,b,c\n" + blank)
    form = CSVForm(Dialect(), lambda: NOON, most)
    with (tmp_path / "a.csv").open("rb") as stream:
        tracemalloc.start()
        found = list(form.records("a.csv", stream, b"", FileMark(0, 0, 0)))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert [record and record.payload for record in found] == [
        {"a": "1", "b": '"open', "c": "3"},
        {"a": "2", "b": "x", "c": "y"},
    ]
    assert found[-1] is not None
    assert found[-1].line == 2 * most + 3
    # As a line each they would take a hundred times as much.
    assert peak < 20 * most


CELL = st.text(st.sampled_from('a,;"\n\r é'), max_size=8).map(lambda text: f"x{text}")


@given(st.lists(st.tuples(CELL, CELL, CELL), min_size=1, max_size=12))
def test_whatever_a_spreadsheet_writes_is_read_as_it_was_written(rows):
    text = io.StringIO(newline="")
    csv.writer(text).writerows([("a", "b", "c"), *rows])
    data = text.getvalue().encode()
    form = CSVForm(Dialect(), lambda: NOON)
    found = form.records("a.csv", io.BytesIO(data), b"", FileMark(0, 0, 0))
    assert [record and tuple(record.payload.values()) for record in found] == rows


def test_a_header_is_known_through_marks_blanks_and_quotes(tmp_path):
    head = b"\xef\xbb\xbf\"Opened\" , 'Unit','Short text', ,Unit\r\n"
    found = polled(tmp_path, head + b"13/09/2023,C,x,y,z\r\n")
    assert only(found).metadata == {"column 4": "y", "Unit#5": "z"}


def test_a_file_in_two_bytes_a_character_is_read(tmp_path):
    text = HEAD.decode() + "13/09/2023,C,Größe 温度,1\n"
    assert only(polled(tmp_path, text.encode("utf-16"))).title == "Größe 温度"


def test_a_declared_charset_is_used_where_the_bytes_are_no_utf8(tmp_path):
    rows = b"13/09/2023,C,\xcf\xf0\xe8\xe2\xe5\xf2,1\n"
    entry = only(polled(tmp_path, HEAD + rows, encoding="cp1251"))
    assert (entry.title, entry.flags) == ("Привет", ())
    assert only(polled(tmp_path, HEAD + rows)).flags == ("charset_guess",)


def test_a_file_without_a_header_names_its_columns(tmp_path):
    header = ["Opened", "Unit", "Short text", "Cost"]
    found = polled(tmp_path, b"13/09/2023;C;x;1\n", header=header, delimiter=";")
    assert only(found).title == "x"


def test_a_last_row_without_its_end_waits_for_a_minute(tmp_path):
    found = polled(tmp_path, HEAD + b"13/09/2023,C,x,18")
    assert found.entries == {}
    os.utime(tmp_path / "orders.csv", ns=(0, 0))
    found.poll()
    assert only(found).metadata == {"Cost": "18"}
    assert found.poll() == []


def test_ids_are_columns_or_a_hash_and_its_number(tmp_path):
    rows = b"13/09/2023,C,x,1\n13/09/2023,C,x,1\n13/09/2023,D,,\n"
    ids = list(polled(tmp_path, HEAD + rows).entries)
    assert ids[1] == f"{ids[0]}#2"
    found = polled(tmp_path, HEAD + rows, id_columns=["Unit", "Short text"])
    first, second = found.entries
    assert first == "C/x"
    assert second.startswith("sha256:")


@pytest.mark.parametrize("data", [b"", b"\n\n"])
def test_a_file_without_a_header_is_no_empty_source(data, tmp_path):
    found = polled(tmp_path, data)
    os.utime(tmp_path / "orders.csv", ns=(0, 0))
    with pytest.raises(IngestionError) as caught:
        found.poll()
    assert caught.value.reason == "unexpected_shape"


@needs_shared_data
def test_ten_years_of_real_work_orders_are_read_whole():
    args = {
        "columns": {
            "entry_time": "BscStartDate",
            "title": "OriginalShorttext",
            "category": "Asset",
            "tags": "PMType",
        },
        "defaults": {"kind": "maintenance"},
        "types": {"Cost": "number"},
    }
    path = LOGBOOKS / "excavator_work_orders.csv"
    source = {"adapter": "generic_csv", "path": str(path), "args": args}
    found = Poller(source, timezone="Australia/Perth")
    assert len(found.poll()) == 5485
    (refused,) = found.refused.values()
    # The header is the first line.
    assert refused.message == "'Cost' in line 3454 is no number."
    assert len(found.entries) == 5484
    assert sum("#" in one for one in found.entries) == 358
    titles = [entry.title for entry in found.entries.values()]
    assert sum('"' in title for title in titles) == 14
