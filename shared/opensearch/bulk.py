"""Writing documents: versions decide who wins, and every item's answer is read."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from uuid import UUID

from opensearchpy import OpenSearch

from shared.errors import OpenSearchError
from shared.opensearch.client import refusal, translate_engine_errors
from shared.opensearch.documents import Document

MAX_REQUEST_BYTES = 5_000_000
# A batch must end within its lease, and a full disk answers late.
_TIMEOUT_SECONDS = 10
_CONFLICT = 409
_FIRST_ERROR = 300
# A body is a tree, and nobody reads it but the server.
_ENCODE = json.JSONEncoder(check_circular=False, separators=(",", ":")).encode
# The rest of the answer is as long as the request, and nobody reads it.
_READ_OF_ITEMS = "items.index._id,items.index.status,items.index.error.type"


def write(
    client: OpenSearch, alias: str, documents: Sequence[Document]
) -> dict[UUID, OpenSearchError]:
    """Write the documents; return the errors of those that failed, by entry.

    An equal or newer version in the index counts as written.
    """
    errors: dict[UUID, OpenSearchError] = {}
    for body in requests(documents):
        with translate_engine_errors():
            answer = client.bulk(
                body=body,
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


def requests(documents: Iterable[Document]) -> Iterator[bytes]:
    """Yield the bodies of bulk requests, none longer than a request may be."""
    lines: list[bytes] = []
    size = 0
    for document in sorted(documents, key=lambda one: one.entry_id.int):
        pair = _lines(document)
        if lines and size + len(pair) > MAX_REQUEST_BYTES:
            yield b"".join(lines)
            lines, size = [], 0
        lines.append(pair)
        size += len(pair)
    if lines:
        yield b"".join(lines)


def _lines(document: Document) -> bytes:
    # What is in it needs no quoting: an id and a number.
    action = (
        f'{{"index":{{"_id":"{document.entry_id}","version":{document.version},'
        '"version_type":"external"}}'
    )
    return f"{action}\n{_ENCODE(document.body)}\n".encode("ascii")


def _error(item: dict[str, Any]) -> OpenSearchError | None:
    status = int(item["status"])
    if status < _FIRST_ERROR or status == _CONFLICT:
        return None
    return refusal(status, str(item.get("error", {}).get("type")))
