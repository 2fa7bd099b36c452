"""A field is added by a migration, the table, and its description: nothing else.

A copy of the product gets those three, and its processes take over from ours.
"""

import json
import shutil
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest

from shared.opensearch import aliases, mapping
from shared.opensearch.client import make_client
from shared.settings.settings import Settings
from tests.support.fixtures.system import ROOT
from tests.support.waiting import eventually, until

PRODUCT = ("api", "local", "migrations", "shared", "workers")
MIGRATION = (
    "9000_pre_add_entry_example_field.sql",
    "ALTER TABLE entry ADD COLUMN example_field text;\n",
)
# Each line stands behind the one that it is made like.
LINES = {
    "shared/entry_fields.py": {
        '    Field("category", always_hashed=True),\n': '    Field("example_field"),\n',
        "    category: str | None = None\n": "    example_field: str | None = None\n",
    },
    "api/entries/schemas/entries.py": {
        "    category: Name | None = None\n": (
            "    example_field: Name | None = Field(\n"
            '        None, description="A text of its own."\n    )\n'
        ),
        "    category: str | None\n": "    example_field: str | None\n",
    },
}
SAID = {"source": "api", "text": "quench", "entry_time": "2026-03-02T05:10:00Z"}
OLD = {**SAID, "external_id": "old", "level": "info", "category": "rf"}
BESIDE = {**SAID, "external_id": "beside", "shift": "owl"}
NEW = {**SAID, "external_id": "new", "example_field": "R-0815"}
PULLED = {"id": "pulled", "timestamp": SAID["entry_time"], "text": "quench"}


@pytest.fixture
def with_field(tmp_path: Path) -> Path:
    """The product with one field more."""
    folder = tmp_path / "with_field"
    for name in PRODUCT:
        # With what is compiled: to do that anew is 5 s of processor.
        shutil.copytree(ROOT / name, folder / name)
    name, sql = MIGRATION
    (folder / "migrations" / name).write_text(sql, "utf-8")
    for path, added in LINES.items():
        text = (folder / path).read_text("utf-8")
        for line, new in added.items():
            assert text.count(line) == 1, line
            text = text.replace(line, line + new)
        (folder / path).write_text(text, "utf-8")
    return folder


def push(client: httpx2.Client, entry: dict[str, Any]) -> str:
    answer = client.post("/v1/entries", json=entry)
    assert answer.status_code < 300, answer.text
    return str(answer.json()["status"])


def listed(client: httpx2.Client) -> dict[str, dict[str, Any]]:
    """Return the entries of the listing by their own ids."""
    items = client.get("/v1/entries").json()["items"]
    return {one["external_id"]: one for one in items}


def found(client: httpx2.Client, query: str, **filters: Any) -> set[str]:
    """Return what a search finds, by whichever engine has the time."""
    asked = {"query": query, "filters": filters, "mode": "keyword"}
    body = client.post("/v1/search/query", json=asked).json()
    return {hit["external_id"] for hit in body["results"]}


@pytest.mark.timeout(600)
def test_a_field_of_the_table_is_stored_hashed_shown_filtered_mapped_and_indexed(
    with_field, make_system, opensearch, tmp_path
):
    pulled = tmp_path / "pulled"
    pulled.mkdir()
    record = {**PULLED, "example_field": "R-0816"}
    (pulled / "runs.jsonl").write_text(json.dumps(record) + "\n", "utf-8")
    lab = {"adapter": "generic_json", "path": str(pulled)}
    system = make_system(
        opensearch=opensearch.url, LOGCHORD_SOURCES=json.dumps({"api": {}, "lab": lab})
    )
    base = system.environment["OPENSEARCH_INDEX"]
    engine = make_client(Settings.load({"OPENSEARCH_URL": opensearch.url}))
    assert engine is not None

    def indexed() -> dict[str, Any]:
        index = mapping.read_alias(base)
        if not engine.indices.exists(index=index):
            return {}
        engine.indices.refresh(index=index)
        hits = engine.search(index=index, body={"size": 10})["hits"]["hits"]
        documents = [hit["_source"] for hit in hits]
        return {one["external_id"]: one.get("example_field") for one in documents}

    # This release stores and indexes before the migration, and goes on after it.
    system.bring_up("api", "enhance")
    key = system.key()
    with system.client(key) as client:
        assert push(client, OLD) == "created"
        eventually(indexed, equals={"old": None}, within_seconds=60)
        system.run("migrate", "--pre", code=with_field)
        assert push(client, BESIDE) == "created"
        assert push(client, OLD) == "unchanged"
        eventually(lambda: set(indexed()), equals={"old", "beside"}, within_seconds=60)
    system.stop("api")
    system.stop("enhance")

    names = ("api", "search", "enhance", "ingest", "upkeep")
    system.start(*names, code=with_field)
    system.wait_ready("search", "enhance", "ingest", "upkeep")
    with closing(engine), system.client(key) as client:
        # No entry of before gets a new revision.
        assert [push(client, one) for one in (OLD, BESIDE)] == ["unchanged"] * 2
        assert push(client, NEW) == "created"
        until(lambda: "pulled" in listed(client), within_seconds=60, what="the source")
        numbers = {"old": None, "beside": None, "new": "R-0815", "pulled": "R-0816"}
        shown = listed(client)
        assert {name: one["example_field"] for name, one in shown.items()} == numbers
        assert "example_field" not in shown["pulled"]["metadata"]

        # The index of before has learned the field, and is not made anew for it.
        eventually(indexed, equals=numbers, within_seconds=60)
        assert aliases.look(engine, base).older == []

        term = {"query": {"term": {"example_field": "R-0816"}}}
        assert engine.count(index=mapping.read_alias(base), body=term)["count"] == 1

        def finds(expected: set[str], query: str, **filters: Any) -> bool:
            asked = partial(found, client, query, **filters)
            return eventually(asked, equals=expected, within_seconds=60)

        assert finds({"new"}, "quench", example_field="r-0815")
        assert finds({"pulled"}, "example_field:R-0816 quench")
        rest = {"old", "beside", "pulled"}
        assert finds(rest, "", example_field={"not": ["R-0815"]})
        options = client.get("/v1/filter-options/example_field?source=api").json()
        assert [one["value"] for one in options["options"]] == ["r-0815"]

        # It is content: a change makes a revision, and the one before stays as it was.
        address = f"/v1/entries/{shown['old']['entry_id']}"
        merged = client.patch(address, json={"example_field": "R-0817"})
        assert merged.json()["status"] == "updated", merged.text
        assert client.get(address).json()["example_field"] == "R-0817"
        before = client.get(address, params={"revision": 1}).json()
        assert (before["example_field"], before["level"]) == (None, "info")
        assert finds({"old"}, "example_field:R-0817 quench")
