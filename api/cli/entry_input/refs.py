"""An entry as people call it, asked of the API."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from urllib.parse import quote
from uuid import UUID

import httpx2

from api.cli import api_client, output
from api.cli.output import CommandError, UsageError

_REVISION = re.compile(r"/e/.*@([1-9][0-9]{0,9})\Z")


def entry(client: httpx2.Client, ref: str, revision: int | None = None) -> Any:
    """Return the entry that is meant, or say why there is none, or not one alone.

    REF is an entry id, a source_uri, a permalink, SOURCE/EXTERNAL_ID, or a bare
    external id.
    """
    pinned = _REVISION.search(ref)
    if revision is None and pinned:
        revision = int(pinned[1])
    for path in _paths(client, ref):
        found = _found(client, path, revision)
        if found is not None:
            return found
    message = f"No entry is called {ref!r}."
    if revision is not None:
        message = f"No entry is called {ref!r}, or it has no revision {revision}."
    raise CommandError(message, exit_code=output.NOT_FOUND)


def _paths(client: httpx2.Client, ref: str) -> Iterator[str]:
    from shared.entries import identity, refs

    with suppress(ValueError):
        yield f"/v1/entries/{UUID(ref)}"
    # Only a full name says whose entry it is: another facility's is not ours.
    is_uri = ref.startswith(identity.URI)
    tenant = api_client.call(client, "GET", "/v1/me")["tenant"] if is_uri else ""
    for name in refs.names(tenant, ref):
        yield f"/e/{quote(name.source, safe='')}/{quote(name.external_id, safe='')}"
    asked = {"external_id": ref, "limit": 2}
    items = api_client.call(client, "GET", "/v1/entries", params=asked)["items"]
    if len(items) > 1:
        several = ", ".join(f"{one['source']}/{one['external_id']}" for one in items)
        raise UsageError(f"{ref!r} may be any of: {several}.")
    yield from (f"/v1/entries/{one['entry_id']}" for one in items)


def _found(client: httpx2.Client, path: str, revision: int | None) -> Any:
    params = {} if revision is None else {"revision": revision}
    if path.startswith("/e/") and revision is not None:
        path, params = f"{path}@{revision}", {}
    try:
        return api_client.call(client, "GET", path, params=params)
    except CommandError as exc:
        if exc.error.get("code") == "not_found":
            return None
        raise
