"""An entry as people call it, asked of the API."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from uuid import UUID

import httpx2

from api.cli import api_client, output
from api.cli.output import CommandError, UsageError


def entry(client: httpx2.Client, ref: str, revision: int | None = None) -> Any:
    """Return the entry that is meant, or say why there is none, or not one alone.

    REF is an entry id, a source_uri, a permalink, SOURCE/EXTERNAL_ID, or a bare
    external id.
    """
    from shared.entries import refs

    wanted = revision
    # As a citation pins it; an `@` may be part of a name, which goes first.
    bare, pin = refs.split_pin(ref)
    for name, of_name in ((ref, None), *([(bare, pin)] if pin else ())):
        for path, pinned in _paths(client, name):
            wanted = revision or pinned or of_name
            found = _found(client, path, wanted)
            if found is not None:
                return found
    message = f"No entry is called {ref!r}."
    if wanted is not None:
        message = f"No entry is called {ref!r}, or it has no revision {wanted}."
    raise CommandError(message, exit_code=output.NOT_FOUND)


def _paths(client: httpx2.Client, ref: str) -> Iterator[tuple[str, int | None]]:
    """Yield where the entry may be, and the revision that its permalink names."""
    from shared.entries import identity, refs

    with suppress(ValueError):
        yield f"/v1/entries/{UUID(ref)}", None
    # Only a full name says whose entry it is: another facility's is not ours.
    is_uri = ref.startswith(identity.URI)
    tenant = api_client.call(client, "GET", "/v1/me")["tenant"] if is_uri else ""
    for name in refs.names(tenant, ref):
        yield identity.permalink(name.source, name.external_id), name.revision
    asked = {"external_id": ref, "limit": 2}
    items = api_client.call(client, "GET", "/v1/entries", params=asked)["items"]
    if len(items) > 1:
        several = ", ".join(f"{one['source']}/{one['external_id']}" for one in items)
        raise UsageError(f"{ref!r} may be any of: {several}.")
    yield from ((f"/v1/entries/{one['entry_id']}", None) for one in items)


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
