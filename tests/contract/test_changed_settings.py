"""What is known of a source counts as long as it would be read in the same way."""

import gzip
import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from shared.settings.source_sections import SourceSettings
from shared.sources import load_adapter
from tests.contract.reading_files import Poller
from tests.contract.stubs.feed import FeedStub
from tests.contract.stubs.generic_rest import RestStub
from tests.contract.stubs.ornl import OrnlStub
from workers.adapters.kit.stub import StubEntry

NOON = datetime(2024, 6, 10, 12, tzinfo=UTC)
IDS = [str(number) for number in range(1, 6)]
ZONE = {"timezone": "Asia/Tokyo"}
FILES: dict[str, tuple[str, bytes]] = {
    "csv": (
        "generic_csv",
        b"id,timestamp,text,unit\n"
        + b"".join(b"%s,2024-06-10 12:00,T,C\n" % one.encode() for one in IDS),
    ),
    "jsonl": (
        "generic_json",
        b"".join(
            json.dumps(
                {"id": one, "timestamp": "2024-06-10 12:00", "text": "T", "unit": "C"}
            ).encode()
            + b"\n"
            for one in IDS
        ),
    ),
    "xml": (
        "generic_xml",
        b"<log>%s</log>"
        % b"".join(
            b"<Logentry><lognumber>%s</lognumber><created>2024-06-10 12:00</created>"
            b"<title>T</title><unit>C</unit></Logentry>" % one.encode()
            for one in IDS
        ),
    ),
}


def of_file(kind: str, folder: Path, **settings: Any) -> Poller:
    adapter, data = FILES[kind]
    (folder / f"log.{kind}").write_bytes(data)
    given = {"adapter": adapter, "path": str(folder), "timezone": "Europe/Berlin"}
    return Poller(given, **settings)


@pytest.mark.parametrize("kind", FILES)
def test_a_changed_map_has_an_unchanged_file_read_again_and_once(kind, tmp_path):
    found = of_file(kind, tmp_path)
    assert found.ids() == IDS
    assert found.ids() == []

    found.given["args"] = {"map": {"category": "unit"}}

    assert found.ids() == IDS
    assert {one.category for one in found.entries.values()} == {"C"}
    assert found.ids() == []
    found.given |= ZONE
    assert found.ids() == IDS
    # How often and how fast it is asked says nothing of what is in it.
    found.given |= {"poll_interval_seconds": 7, "max_retries": 0, "page_size": 2}
    assert found.ids() == []


def test_what_is_not_of_the_reading_leaves_alone_by_what_something_was_read():
    class Later(SourceSettings):
        """The settings of a release that brings one more."""

        of_a_later_release: int = 7

    given: dict[str, Any] = {"adapter": "generic_json", "path": "log.jsonl"}

    def read_by(kind: type[SourceSettings] = SourceSettings, **more: Any) -> str:
        settings = kind.model_validate(given | more)
        descriptor = load_adapter.find_adapter_class("generic_json").descriptor
        return load_adapter.read_by(settings, descriptor)

    assert read_by(Later) == read_by()
    assert read_by(Later, of_a_later_release=8) != read_by()
    assert read_by(args={"map": {"title": "id"}}) != read_by()
    for harmless in (
        {"retention_days": 30},
        {"snapshot_path": "copies"},
        {"max_response_bytes": 5_000_000},
        {"allow_private": True},
        {"auth": {"kind": "bearer", "secret": "s3cret"}},
    ):
        assert read_by(**harmless) == read_by()


@pytest.mark.parametrize("kind", FILES)
def test_a_map_that_is_changed_in_the_middle_of_a_file_counts_for_all_of_it(
    kind, tmp_path
):
    found = of_file(kind, tmp_path, page_size=2)
    assert found.ids(pages=2) == IDS[:4]

    found.given["args"] = {"map": {"category": "unit"}}

    assert found.ids() == IDS
    assert {one.category for one in found.entries.values()} == {"C"}
    assert found.ids() == []


def test_files_that_were_read_before_the_map_was_changed_are_read_again(tmp_path):
    for number in range(3):
        data = FILES["jsonl"][1].replace(b'"id": "', b'"id": "%d-' % number)
        (tmp_path / f"{number}.jsonl.gz").write_bytes(gzip.compress(data))
    found = Poller({"adapter": "generic_json", "path": str(tmp_path)}, page_size=4)
    found.given["timezone"] = "Europe/Berlin"
    # By now the first file counts as read, and the last one is under way.
    found.cursor = {"v": 1}
    assert len(found.ids(pages=3)) == 12
    assert len(found.memory) == 1

    found.given |= ZONE
    later = {*found.ids(), *found.ids()}

    assert later == {f"{number}-{one}" for number in range(3) for one in IDS}
    assert found.ids() == []


class Served:
    """A source over HTTP whose server knows its answer again."""

    def __init__(self, stub: Any, settings: Mapping[str, Any]) -> None:
        for number in range(1, 6):
            stub.add(StubEntry(number, NOON, f"T{number}"))
        self.stub = stub
        self.found = Poller(settings)
        # Of a feed that is mapped by nothing, its zone is as good as a map.
        self.found.given["timezone"] = "Europe/Berlin"


@pytest.fixture(params=["feed", "rest", "ornl"])
def served(request: pytest.FixtureRequest) -> Iterator[Served]:
    stub: Any
    match request.param:
        case "feed":
            stub = FeedStub(has_guid=True)
            settings = {"adapter": "feed", "base_url": stub.url}
        case "rest":
            stub = RestStub("none")
            settings = dict(stub.settings())
            settings["args"] = {**settings["args"], "params": {}}
        case _:
            stub = OrnlStub()
            settings = dict(stub.settings())
    with closing(stub):
        yield Served(stub, settings)


def test_an_unchanged_answer_is_asked_for_whole_again_and_once(served):
    found, stub = served.found, served.stub
    first = found.ids()
    assert len(first) == 5
    asked = len(stub.requests())
    assert found.ids() == []
    assert len(stub.requests()) == asked + 1

    found.given |= ZONE

    assert sorted(found.ids()) == sorted(first)
    asked = len(stub.requests())
    assert found.ids() == []
    assert len(stub.requests()) == asked + 1


def test_every_setting_of_pace_is_a_setting_and_changes_nothing_that_is_read():
    given = SourceSettings(adapter="generic_csv", path="/nowhere")
    descriptor = load_adapter.find_adapter_class(given.adapter).descriptor
    read_by = load_adapter.read_by(given, descriptor)

    assert set(SourceSettings.model_fields) >= load_adapter.OF_PACE
    failing = given.model_copy(update={"max_retries": 0})
    assert load_adapter.read_by(failing, descriptor) == read_by
    for change in (ZONE, {"args": {"map": {"text": "t"}}}, {"keep_raw": False}):
        other = given.model_copy(update=change)
        assert load_adapter.read_by(other, descriptor) != read_by


def test_a_higher_limit_has_a_source_read_anew_only_where_one_refused_something(
    tmp_path,
):
    found = of_file("jsonl", tmp_path)
    assert found.ids() == IDS
    # Nothing was refused: neither a higher limit nor a lower one brings anything.
    for most in (2_000_000, 500_000, 9_000_000):
        found.max_entry_bytes = most
        assert found.ids() == []
    found.max_entry_bytes = 1_000_000
    long = json.dumps({"id": "6", "timestamp": 1, "text": "x" * 4_500_000}) + "\n"
    with (tmp_path / "log.jsonl").open("a") as file:
        file.write(long)
    (name,) = found.ids()
    assert found.refused[name].reason == "too_large"
    assert found.ids() == []

    found.max_entry_bytes = 500_000
    assert found.ids() == []
    found.max_entry_bytes = 1_100_000
    assert found.ids() == [*IDS, name]
    assert found.ids() == []
    found.max_entry_bytes = 5_000_000
    assert found.ids() == [*IDS, "6"]

    # It is here by now.
    for most in (9_000_000, 1_000_000, 5_000_000):
        found.max_entry_bytes = most
        assert found.ids() == []
