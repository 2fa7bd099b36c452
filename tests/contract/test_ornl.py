"""ORNL's records: both envelopes, from a file and from an address."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from shared.adapter_contract.contract import RawItem
from shared.errors import IngestionError
from tests.contract.reading_files import Poller
from tests.contract.stubs.ornl import OrnlStub
from tests.contract.walking import fill
from workers.adapters.kit.stub import StubEntry

NOON = datetime(2024, 6, 10, 12, 0, tzinfo=UTC)
STUB = OrnlStub
RECORD: dict[str, Any] = {
    "ID": "SNS-2024-0917",
    "logbook": "SNS Operations",
    "event_time": "2024-06-10T02:10:00Z",
    "entry_time": "2024-06-10T02:40:00Z",
    "author": "shift_lead",
    "title": "Modulator SCL-9 fault",
    "content": "Fault cleared, cause: fan.",
    "segment/area": "SCL",
    "reference": "SNS-2024-0911",
    "attachment": "Y",
    "attachment_header": ["fan.jpg"],
}


def read(**changes: Any) -> Any:
    given = {"adapter": "ornl", "base_url": "https://log.test/entries.json"}
    item = RawItem("SNS-2024-0917", {**RECORD, **changes})
    return Poller(given).open().adapter.parse(item)


def test_a_record_is_read_as_its_logbook_means_it() -> None:
    entry = read()
    assert entry.entry_time == datetime(2024, 6, 10, 2, 40, tzinfo=UTC)
    assert entry.event_time == datetime(2024, 6, 10, 2, 10, tzinfo=UTC)
    assert (entry.logbooks, entry.related) == (("SNS Operations",), ("SNS-2024-0911",))
    assert entry.metadata == {"segment_area": "SCL"}
    assert [(one.filename, one.url) for one in entry.attachments] == [("fan.jpg", None)]
    assert entry.flags == ("truncated_by_source",)


def test_logbooks_may_be_several_and_times_numbers() -> None:
    entry = read(logbook=["A, B", "C"], entry_time=1718000000, attachment="N")
    assert entry.logbooks == ("A, B", "C")
    assert entry.entry_time == datetime(2024, 6, 10, 6, 13, 20, tzinfo=UTC)
    assert entry.flags == ()


def test_an_id_may_be_written_small(tmp_path: Path) -> None:
    record = {**RECORD, "id": RECORD["ID"]}
    del record["ID"]
    (tmp_path / "log.json").write_text(json.dumps([record]))
    found = Poller({"adapter": "ornl", "path": str(tmp_path / "log.json")})
    assert found.ids() == ["SNS-2024-0917"]


@pytest.mark.parametrize("envelope", ['{"entries": [%s]}', "[%s]"])
def test_a_file_holds_either_envelope(envelope: str, tmp_path: Path) -> None:
    (tmp_path / "log.json").write_text(envelope % json.dumps(RECORD))
    found = Poller({"adapter": "ornl_logbook", "path": str(tmp_path / "log.json")})
    assert found.ids() == ["SNS-2024-0917"]


def test_an_address_is_read_again_only_when_it_has_changed(stub: OrnlStub) -> None:
    fill(stub, 5)
    found = Poller(stub.settings(), page_size=2)
    assert found.ids(pages=1) == ["1", "2"]
    assert found.ids() == ["3", "4", "5"]
    assert found.ids() == []
    stub.edit("4", text="Other")
    assert found.ids() == ["1", "2", "3", "4", "5"]
    assert found.entries["4"].text == "Other"


@pytest.mark.parametrize("mode", ["html_error", "login_page", "cut_listing"])
def test_what_is_no_list_is_no_empty_source(stub: OrnlStub, mode: Any) -> None:
    stub.add(StubEntry(1, NOON))
    found = Poller(stub.settings())
    found.poll()
    cursor = found.cursor
    stub.fault(mode)
    with pytest.raises(IngestionError) as caught:
        found.poll()
    assert caught.value.reason == "unexpected_shape"
    assert found.cursor == cursor
