"""Writing documents: versions decide who wins, and every item's answer is read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

from opensearchpy import OpenSearch

from shared.errors import OpenSearchError
from shared.opensearch.client import refusal, translated_errors
from shared.opensearch.documents import Document

MAX_REQUEST_BYTES = 5_000_000
# A batch must end within its lease, and a full disk answers late.
_TIMEOUT_SECONDS = 10
_CONFLICT = 409
_FIRST_ERROR = 300
# Of an answer as long as the request the rest is read by nobody.
_READ_OF_ITEMS = "items.index._id,items.index.status,items.index.error.type"


def write(
    client: OpenSearch, alias: str, documents: Sequence[Document]
) -> dict[UUID, OpenSearchError]:
    """Write the documents and return the errors by entry; none for what is in.

    An equal or newer version in the index counts as written.
    """
    errors: dict[UUID, OpenSearchError] = {}
    for lines in _requests(documents):
        with translated_errors():
            answer = client.bulk(
                body="".join(lines),
                index=alias,
                params={
                    "require_alias": "true",
                    "request_timeout": _TIMEOUT_SECONDS,
                    "filter_path": _READ_OF_ITEMS,
                },
            )
        for item in answer["items"]:
            error = _error(item["index"])
            if error is not None:
                errors[UUID(item["index"]["_id"])] = error
    return errors


def _requests(documents: Sequence[Document]) -> Iterator[list[str]]:
    lines: list[str] = []
    size = 0
    for document in sorted(documents, key=lambda one: one.entry_id):
        pair = _lines(document)
        if lines and size + len(pair) > MAX_REQUEST_BYTES:
            yield lines
            lines, size = [], 0
        lines.append(pair)
        size += len(pair)
    if lines:
        yield lines


def _lines(document: Document) -> str:
    action = {
        "index": {
            "_id": str(document.entry_id),
            "version": document.version,
            "version_type": "external",
        }
    }
    return f"{json.dumps(action)}\n{json.dumps(document.body)}\n"


def _error(item: dict[str, Any]) -> OpenSearchError | None:
    status = int(item["status"])
    if status < _FIRST_ERROR or status == _CONFLICT:
        return None
    return refusal(status, str(item.get("error", {}).get("type")))
