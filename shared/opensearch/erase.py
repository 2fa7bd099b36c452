"""One document taken out of the index at once, and a look whether it is gone."""

from uuid import UUID

from opensearchpy import OpenSearch

from shared.opensearch import aliases
from shared.opensearch.client import refresh, translate_engine_errors

_TIMEOUT_SECONDS = 10
_NOT_FOUND, _CONFLICT = 404, 409


def erase(client: OpenSearch, base: str, entry_id: UUID, version: int) -> int:
    """Delete a document for good, and return from how many indices it went.

    A write still on its way has a lower version. Once segments are merged nothing of it
    is left in the index's files either.
    """
    removed = 0
    with translate_engine_errors():
        for index in _indices(client, base):
            removed += remove(client, index, entry_id, version)
            refresh(client, index, _TIMEOUT_SECONDS)
    return removed


def remove(
    client: OpenSearch,
    index: str,
    entry_id: UUID,
    version: int,
    *,
    version_type: str = "external",
    unless_newer: bool = False,
) -> bool:
    """Delete a document of one index; of a newer version it stays, or that is told.

    True: there was one.

    `external` asks for a version above its own, `external_gte` for its own or above; a
    write up to that version, still on its way, is refused from then on.
    """
    with translate_engine_errors():
        answer = client.delete(
            index=index,
            id=str(entry_id),
            params={
                "version": version,
                "version_type": version_type,
                "request_timeout": _TIMEOUT_SECONDS,
            },
            ignore=[_NOT_FOUND, *([_CONFLICT] if unless_newer else [])],
        )
    return bool(answer.get("result") == "deleted")


def count(client: OpenSearch, base: str, entry_id: UUID) -> int:
    """Return in how many documents an entry is found, tombstones included."""
    body = {"query": {"term": {"entry_id": str(entry_id)}}}
    found = 0
    with translate_engine_errors():
        for index in _indices(client, base):
            answer = client.count(
                index=index, body=body, params={"request_timeout": _TIMEOUT_SECONDS}
            )
            found += int(answer["count"])
    return found


def _indices(client: OpenSearch, base: str) -> list[str]:
    """Return every index behind the two names: while one is rebuilt, there are two."""
    found = aliases.look(client, base)
    return sorted({one for one in (found.read, found.write) if one})
