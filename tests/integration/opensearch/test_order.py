"""F17: documents of one entry arrive in any order, and the index ends at the newest."""

from itertools import permutations
from uuid import UUID

import pytest

from shared.enrich import metadata
from shared.entries.reading import read_entries
from shared.entries.saving.save import tombstone
from shared.opensearch import bulk, documents, mapping
from shared.opensearch.documents import Document
from tests.support.saving import save_many

pytestmark = pytest.mark.timeout(180)
TENANT = "default"
ORDERS = list(permutations(range(3)))


def saved(conn, text: str) -> dict[UUID, Document]:
    """Save an entry for each order, read it, and return the documents."""
    ids = save_many(conn, len(ORDERS), text=text)
    for content in read_entries.load_contents(conn, TENANT, ids).values():
        metadata.store(conn, content, metadata.extract(content, None))
    return loaded(conn, ids)


def loaded(conn, ids: list[UUID]) -> dict[UUID, Document]:
    return {one.entry_id: one for one in documents.load(conn, TENANT, ids)}


def held(client, base: str) -> dict[str, tuple[int, bool]]:
    """Version and tombstone of every document, as searches see them."""
    name = mapping.read_alias(base)
    client.indices.refresh(index=name)
    found = client.search(index=name, body={"size": 100, "version": True})
    assert found["_shards"]["failed"] == 0
    return {
        hit["_id"]: (hit["_version"], bool(hit["_source"].get("deleted")))
        for hit in found["hits"]["hits"]
    }


@pytest.mark.requirement("F17", "P2", "P6")
def test_whatever_the_order_the_newest_document_stays_and_what_is_deleted_is_gone(
    conn, search_client, own_index
):
    first = saved(conn, "RF trip")
    edited = saved(conn, "RF trip, restarted")
    ids = sorted(first)
    # Read once more, the same revision is shown with what is known of it by now.
    conn.execute("UPDATE entry SET doc_version = doc_version + 1")
    read_again = loaded(conn, ids)
    steps = (first, edited, read_again)
    versions = [step[ids[0]].version for step in steps]
    assert versions == sorted(set(versions))
    write = mapping.write_alias(own_index)

    for entry_id, order in zip(ids, ORDERS, strict=True):
        for step in order:
            # What is older by then is told in the answer, and is no error.
            assert bulk.write(search_client, write, [steps[step][entry_id]]) == {}
    newest = {str(one): (read_again[one].version, False) for one in ids}
    assert held(search_client, own_index) == newest

    for entry_id in ids:
        tombstone(conn, TENANT, entry_id, reason=None, stages=[])
    gone = loaded(conn, ids)
    assert bulk.write(search_client, write, list(gone.values())) == {}
    # Late at once, and once a deletion by the index itself would be forgotten.
    buried = {str(one): (gone[one].version, True) for one in ids}
    for late in (read_again, edited, first):
        assert bulk.write(search_client, write, list(late.values())) == {}
        assert held(search_client, own_index) == buried
        short = {"index": {"gc_deletes": "0s"}}
        search_client.indices.put_settings(index=f"{own_index}-v*", body=short)
