"""A path is recognised by what stands in its first file."""

import json

import pytest

from shared.settings.source_sections import SourceSettings
from shared.sources.admin.detect_adapter import recognise

ALS = {"id": "1", "timestamp": "1718001234", "subject": "a", "details": "b"}
JLAB = {"lognumber": "1", "created": {"timestamp": 1}, "title": "a"}
ORNL = {"ID": "1", "entry_time": "2024-06-10T02:40:00Z", "content": "b"}
OTHER = {"number": 1, "written": "2024-06-10"}


@pytest.mark.parametrize(
    ("name", "data", "adapter", "asks"),
    [
        ("a.jsonl", json.dumps(ALS), "als", ()),
        ("a.json", json.dumps({"entries": [JLAB]}), "jlab", ()),
        ("a.json", json.dumps([ORNL]), "ornl", ()),
        ("a.json", json.dumps([OTHER]), "generic_json", ("args.map",)),
        ("a.csv", "when;what\n1;2\n", "generic_csv", ("args.columns", "timezone")),
        ("a.xml", "<l><e><x>1</x></e></l>", "generic_xml", ("args.map", "timezone")),
    ],
)
def test_a_file_is_recognised_by_its_first_record(name, data, adapter, asks, tmp_path):
    path = tmp_path / name
    path.write_text(data)
    tried = recognise(str(path), SourceSettings(path=str(path)))
    assert tried.winner is not None, tried
    assert (tried.winner.adapter, tried.winner.found.asks) == (adapter, asks)
    assert tried.winner.found.settings["path"] == str(path)


def test_a_file_of_something_else_is_not_recognised(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("Dear diary")
    assert recognise(str(path), SourceSettings(path=str(path))).winner is None
