"""What is sent to OpenSearch: every document once, in order, and none too long."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.ids import uuid7
from shared.opensearch import bulk
from shared.opensearch.documents import Document

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
BODIES = st.dictionaries(st.text(min_size=1, max_size=9), VALUES, max_size=5)
VERSIONS = st.integers(1, 2**60)


@given(st.lists(st.tuples(VERSIONS, BODIES), max_size=12), st.integers(1, 2000))
def test_every_document_is_sent_once_in_order_with_its_version(found, most):
    ids = sorted(uuid7() for _ in found)
    documents = [Document(one, *more) for one, more in zip(ids, found, strict=True)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bulk, "MAX_REQUEST_BYTES", most)
        requests = list(bulk.requests(reversed(documents)))

    lines = [read(line) for one in requests for line in one.splitlines()]
    assert lines[::2] == [
        {
            "index": {
                "_id": str(one.entry_id),
                "version": one.version,
                "version_type": "external",
            }
        }
        for one in documents
    ]
    assert lines[1::2] == [one.body for one in documents]
    # One that is longer than a request may be goes by itself.
    assert all(len(one) <= most or one.count(b"\n") == 2 for one in requests)
    assert all(one.endswith(b"\n") for one in requests)


def read(line: bytes) -> Any:
    return json.loads(line)
