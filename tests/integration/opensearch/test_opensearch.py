"""The index on a real OpenSearch: made once, strict, and honest about every item."""

import secrets
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from shared.enrich import metadata
from shared.entries.reading import read_entries
from shared.errors import ConfigurationError, OpenSearchError
from shared.ids import uuid7
from shared.opensearch import aliases, bulk, documents, mapping
from shared.opensearch.client import make_client, refusal, translate_engine_errors
from shared.opensearch.documents import Document
from shared.settings.settings import Settings
from shared.text.analysis.analyser import MAX_POSITIONED_TOKENS
from tests.support.saving import save_entry

pytestmark = pytest.mark.timeout(180)
TENANT = "default"


@pytest.fixture
def client(search_client):
    return search_client


@pytest.fixture
def base(client):
    base = f"test_{secrets.token_hex(6)}"
    yield base
    client.indices.delete(index=f"{base}-v*")


@pytest.fixture
def write(client, base):
    aliases.ensure_index(client, base)

    def write(*found: Document) -> dict[UUID, OpenSearchError]:
        return bulk.write(client, mapping.write_alias(base), found)

    return write


@pytest.fixture
def matches(client, base):
    def matches(query: dict[str, Any]) -> list[str]:
        client.indices.refresh(index=mapping.read_alias(base))
        found = client.search(index=mapping.read_alias(base), body={"query": query})
        assert found["_shards"]["failed"] == 0
        return sorted(hit["_id"] for hit in found["hits"]["hits"])

    return matches


@pytest.fixture
def document_of(conn):
    """Store an entry, analyse it, and return its document."""

    def document_of(text: str = "RF trip", **fields: Any) -> Document:
        entry_id = save_entry(conn, str(uuid7()), text, **fields)
        content = read_entries.load_contents(conn, TENANT, [entry_id])[entry_id]
        metadata.store(conn, content, metadata.extract(content, None))
        (document,) = documents.load(conn, TENANT, [entry_id])
        return document

    return document_of


def small(version: int, **body: Any) -> Document:
    return Document(uuid7(), version, {"tenant": TENANT, **body})


def test_many_at_once_make_one_index_and_each_makes_everything_due(client, base):
    made_due: list[int] = []
    with ThreadPoolExecutor(6) as threads:
        made = list(
            threads.map(
                lambda number: aliases.ensure_index(
                    client, base, lambda: made_due.append(number)
                ),
                range(6),
            )
        )

    (name,) = {one.write for one in made}
    assert made_due
    assert list(client.indices.get(index=f"{base}-v*")) == [name]
    again = aliases.ensure_index(client, base, made_due.clear)
    assert (again.read, again.write, again.bare) == (name, name, ())
    assert made_due


def test_dying_before_the_aliases_leaves_nothing_that_looks_ready(client, base):
    def die() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        aliases.ensure_index(client, base, die)

    assert not client.indices.exists_alias(name=mapping.write_alias(base))
    (left,) = aliases.look(client, base).bare
    assert aliases.ensure_index(client, base).write != left


def test_an_index_of_an_older_release_takes_our_documents_until_it_is_made_anew(
    client, base
):
    body = mapping.make_index_body()
    for field in ("day", "check", "saved_search"):
        del body["mappings"]["properties"][field]
    name = f"{base}-v1-17-abc"
    body["aliases"] = {mapping.read_alias(base): {}, mapping.write_alias(base): {}}
    client.indices.create(index=name, body=body)
    one = small(1, day=3, check=4)
    assert set(bulk.write(client, mapping.write_alias(base), [one])) == {one.entry_id}

    found = aliases.ensure_index(client, base)

    assert (found.write, found.older) == (name, [name])
    assert bulk.write(client, mapping.write_alias(base), [one]) == {}


def test_while_one_is_made_anew_both_are_written_and_the_old_one_is_searched(
    client, base
):
    first = aliases.ensure_index(client, base)
    assert first.written == [mapping.read_alias(base)]
    name = aliases.name_of(base, "new")
    aliases.make(client, name)
    aliases.make(client, name)
    assert aliases.look(client, base).bare == (name,)

    aliases.write_to(client, first, name)
    both = aliases.look(client, base)

    assert (both.read, both.write) == (first.read, name)
    assert both.written == [mapping.read_alias(base), mapping.write_alias(base)]
    settings = client.indices.get_settings(index=name)[name]["settings"]["index"]
    assert settings["refresh_interval"] == "-1"
    assert settings["translog"]["durability"] == "async"
    assert settings["auto_expand_replicas"] == "false"
    aliases.go_live(client, name)
    aliases.search_in(client, both, name)
    after = aliases.look(client, base)
    assert (after.read, after.write, after.bare) == (name, name, (first.read,))
    settings = client.indices.get_settings(index=name)[name]["settings"]["index"]
    assert settings["refresh_interval"] == "1s"
    assert settings["translog"]["durability"] == "request"
    # With a second node it has a copy there; alone none is missed.
    assert settings["auto_expand_replicas"] == "0-1"
    assert client.cluster.health(index=name)["status"] == "green"
    aliases.delete(client, str(first.read))
    aliases.delete(client, str(first.read))
    assert aliases.look(client, base).bare == ()


def test_a_saved_search_has_its_field_and_an_entry_is_put_to_it(client, base):
    """The field is reserved: what is kept there is found by a document."""
    aliases.ensure_index(client, base)
    client.index(
        index=mapping.write_alias(base),
        id=str(uuid7()),
        body={"tenant": TENANT, "saved_search": {"term": {"stream": "quench"}}},
        params={"refresh": "true"},
    )

    def hits(stream: str) -> int:
        asked = {"percolate": {"field": "saved_search", "document": {"stream": stream}}}
        found = client.search(index=mapping.read_alias(base), body={"query": asked})
        return int(found["hits"]["total"]["value"])

    assert (hits("the quench of noon"), hits("nothing")) == (1, 0)


def test_an_older_version_is_no_error_and_changes_nothing(write, client, base):
    new = small(7, kind="new")
    old = Document(new.entry_id, 6, {"tenant": TENANT, "kind": "old"})

    assert write(new) == {}
    assert write(old, new) == {}

    stored = client.get(index=mapping.read_alias(base), id=str(new.entry_id))
    assert (stored["_version"], stored["_source"]["kind"]) == (7, "new")


def test_a_document_that_cannot_be_mapped_is_refused_alone(write):
    bad, good = small(1, surprise=1), small(1, kind="logbook")

    errors = write(bad, good)

    assert set(errors) == {bad.entry_id}
    error = errors[bad.entry_id]
    assert (error.error_code, error.retriable) == ("opensearch_refused", False)
    assert error.technical == "400 strict_dynamic_mapping_exception"


def test_a_blocked_index_is_tried_again_later(write, client, base):
    client.indices.put_settings(
        index=mapping.write_alias(base),
        body={"index.blocks.read_only_allow_delete": True},
    )
    one = small(1)

    (error,) = write(one).values()

    assert (error.error_code, error.retriable) == ("opensearch_unavailable", True)


def test_a_vanished_alias_is_told_and_never_made_a_plain_index(write, client, base):
    client.indices.delete(index=f"{base}-v*")

    (error,) = write(small(1)).values()

    assert error.retriable
    assert error.technical == "404 index_not_found_exception"
    assert not client.indices.exists(index=mapping.write_alias(base))


@pytest.mark.parametrize("status", [401, 403, 404, 405, 429, 502])
def test_an_answer_that_is_no_documents_fault_is_asked_again(status):
    assert refusal(status, "whatever a proxy says").retriable


@pytest.mark.parametrize("status", [400, 413])
def test_an_answer_to_what_was_sent_is_not_asked_again(status):
    assert not refusal(status, "mapper_parsing_exception").retriable


def test_a_server_that_is_away_is_told_by_kind():
    client = make_client(Settings.load({"OPENSEARCH_URL": "http://127.0.0.1:9"}))
    assert client is not None
    with pytest.raises(OpenSearchError) as caught, translate_engine_errors():
        client.info()
    assert (caught.value.error_code, caught.value.retriable) == (
        "opensearch_unavailable",
        True,
    )


def test_off_is_no_client_and_nothing_known_is_said():
    assert make_client(Settings.load({"OPENSEARCH_URL": "off"})) is None
    with pytest.raises(ConfigurationError, match="OPENSEARCH_URL=off"):
        make_client(Settings())


@pytest.mark.requirement("B8")
def test_hostile_metadata_are_indexed_without_new_fields(
    write, client, base, document_of
):
    hostile = {
        "a.b": "text",
        "_id": 1,
        "__proto__": {"": "empty key"},
        "same": "text",
        "long": "x" * 40_000,
        "wide": "\U0001f600" * 40_000,
        "k" * 2000: "\U0001f600" * 40_000,
        "number": 10,
        "huge": int("9" * 64),
        "when": "2026-03-02T05:10:00Z",
        "w" * 200: {"w" * 200: {"w" * 200: {"w" * 200: "\U0001f600" * 40_000}}},
        "deep": {"a": {"b": {"c": {"d": {"e": [1, "two", None, True]}}}}},
    }
    before = client.indices.get_mapping(index=mapping.read_alias(base))

    assert write(document_of(metadata=hostile)) == {}
    assert write(document_of(metadata={"same": 3, "number": "ten"})) == {}

    assert client.indices.get_mapping(index=mapping.read_alias(base)) == before


@pytest.mark.requirement("B8")
def test_more_numbers_than_the_index_takes_do_not_cost_the_entry(
    write, matches, document_of
):
    metadata = {"waveform": [*range(6000)], "at": ["2026-03-02T05:10:00Z"] * 6000}
    document = document_of(metadata=metadata)
    assert write(document) == {}
    first = {"bool": {"filter": [{"term": {"meta_num.key": "waveform"}}]}}
    assert matches({"nested": {"path": "meta_num", "query": first}}) == [
        str(document.entry_id)
    ]


def test_numbers_and_dates_of_metadata_are_compared_as_such(
    write, matches, document_of
):
    ten, nine = (document_of(metadata={"current": value}) for value in (10, 9))
    day = document_of(metadata={"done": "2026-03-02T05:10:00+01:00"})
    assert write(ten, nine, day) == {}

    def above(field: str, key: str, value: Any) -> dict[str, Any]:
        inside = [
            {"term": {f"{field}.key": key}},
            {"range": {f"{field}.value": {"gte": value}}},
        ]
        return {"nested": {"path": field, "query": {"bool": {"filter": inside}}}}

    assert matches(above("meta_num", "current", 9.5)) == [str(ten.entry_id)]
    assert matches(above("meta_date", "done", "2026-03-02T04:10:00Z")) == [
        str(day.entry_id)
    ]


def test_readers_nobody_and_everybody_are_told_apart(write, matches, document_of):
    everybody = document_of(readers=None)
    nobody = document_of(readers=())
    group = document_of(readers=("rf",))
    write(everybody, nobody, group)

    assert matches({"terms": {"readers": ["*", "rf"]}}) == sorted(
        [str(everybody.entry_id), str(group.entry_id)]
    )


def test_a_phrase_stays_in_its_section_and_over_late_words_there_is_none(
    write, matches, document_of
):
    title = document_of("pump replaced", title="ion")
    late = document_of("x " * MAX_POSITIONED_TOKENS + "ion pump")
    plain = document_of("the ion pump")
    write(title, late, plain)

    assert matches({"match_phrase": {"stream": "ion pump"}}) == [str(plain.entry_id)]
    assert len(matches({"match": {"stream": "ion"}})) == 3


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a" * 1_000_000,
        " ".join(f"{i:06x}" for i in range(110_000)),
        "\U00010400" * 300,
        "真空漏れ\u200b\u202e",
        "beam " * 40_000,
    ],
    ids=lambda text: f"{text[:6]!r} x {len(text)}",
)
def test_any_text_is_indexed_as_the_analyser_gives_it(
    write, client, base, document_of, conn, text: str
):
    document = document_of(text)

    assert write(document) == {}

    stored = client.get(index=mapping.read_alias(base), id=str(document.entry_id))
    row = conn.execute("SELECT stream, idents FROM entry_text").fetchone()
    assert "\n".join(stored["_source"]["stream"]) == row[0]
    assert stored["_source"]["idents"] == row[1]


def test_a_long_term_is_one_token_in_the_index_too(write, matches, document_of):
    document = document_of("\U00010428" * 300)
    write(document)

    term = document.body["stream"][0]
    assert len(term) == 128
    assert matches({"term": {"stream": term}}) == [str(document.entry_id)]


def test_a_restored_database_writes_over_what_the_index_kept(conn, document_of):
    before = document_of()
    conn.execute("UPDATE installation SET epoch = epoch + 1")

    assert document_of().version > before.version + 2**39


def test_times_far_from_now_are_indexed(write, matches, document_of):
    old = document_of(entry_time=datetime(1900, 1, 1, tzinfo=UTC))
    far = document_of(entry_time=datetime(2200, 12, 31, tzinfo=UTC))
    assert write(old, far) == {}

    assert matches({"range": {"entry_time": {"lt": "1950-01-01"}}}) == [
        str(old.entry_id)
    ]
