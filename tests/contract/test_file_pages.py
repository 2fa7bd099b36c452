"""What holds of a file of records, whatever it is written in."""

import json
from pathlib import Path

import pytest

from tests.contract.reading_files import Poller
from tests.contract.stubs.generic_csv import CSVStub
from tests.contract.stubs.generic_json import JSONDocumentStub
from tests.contract.stubs.generic_xml import XMLStub
from tests.contract.walking import NOON
from workers.adapters.kit.stub import StubEntry

# Two of them are more than a page may hold.
LONG = "quench " * 1_300_000
SMALL = ["1", "2", "3"]
LARGE = ["4", "5", "6"]
RECORDS = [
    {"id": n, "timestamp": 1_718_000_000, "text": LONG if n in LARGE else "A"}
    for n in (*SMALL, *LARGE)
]
ELEMENTS = [
    f"<Logentry><lognumber>{one['id']}</lognumber><body>{one['text']}</body>"
    "<created>2024-06-10T12:00:00Z</created></Logentry>"
    for one in RECORDS
]
FILES = {
    "lines.jsonl": "".join(f"{json.dumps(one)}\n" for one in RECORDS),
    "list.json": json.dumps(RECORDS),
    "object.json": json.dumps({"entries": RECORDS}, indent=1),
    "log.xml": "".join(["<log>", *ELEMENTS, "</log>"]),
}


@pytest.mark.parametrize("name", FILES)
def test_a_page_of_large_records_ends_where_its_bytes_do(name: str, tmp_path: Path):
    (tmp_path / name).write_text(FILES[name], "utf-8")
    adapter = "generic_xml" if name.endswith("xml") else "generic_json"
    found = Poller({"adapter": adapter, "path": str(tmp_path)})
    found.max_entry_bytes = len(LONG)

    opened = found.open()
    with found.io:
        pages = [
            [item.external_id for item in page.items]
            for page in opened.adapter.pages(None)
        ]

    assert pages == [[*SMALL, LARGE[0]], [LARGE[1]], [LARGE[2]], []]
    assert found.ids() == [*SMALL, *LARGE]
    assert {len(found.entries[one].text) for one in LARGE} == {len(LONG)}


@pytest.mark.parametrize("kind", [CSVStub, JSONDocumentStub, XMLStub])
def test_a_changed_file_is_read_again_and_an_unchanged_one_is_not(make_stub, kind):
    stub = make_stub(kind=kind)
    ids = [stub.add(StubEntry(n, NOON, tags=("a, b", "c"))) for n in range(1, 6)]
    found = Poller(stub.settings(), page_size=2)
    assert found.ids(pages=1) == ids[:2]
    assert found.ids() == ids[2:]
    assert found.ids() == []
    assert found.entries["1"].tags == ("a, b", "c")
    stub.edit("4", text="Other\nlines")
    assert found.ids() == ids
    edited = found.entries["4"]
    assert (edited.text, edited.entry_time) == ("Other\nlines", NOON)
    stub.pack()
    assert found.ids() == ids
