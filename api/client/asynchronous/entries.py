"""Entries: pushed, read by any of their names, listed, followed."""

import re
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import quote, unquote
from uuid import UUID

from api.client import models
from api.client.asynchronous.link import AsyncLink
from api.client.entry_batches import split_entries
from api.client.listed_filters import read_filters
from shared.errors import InvalidRequestError, NotFoundError

_URI = re.compile(r"logchord:[^/]+/([^/]+)/(.+)", re.DOTALL)
_PERMALINK = re.compile(r".*/e/([^/?#]+)/([^/?#@]+)(?:@([1-9][0-9]*))?(?:[?#].*)?")


class AsyncEntries:
    """What a client may do with single entries."""

    _link: AsyncLink

    async def push(
        self,
        entries: Iterable[Mapping[str, Any]] | Mapping[str, Any],
        *,
        atomic: bool = False,
        **params: Any,
    ) -> list[models.PushedItem]:
        """Push one entry or any number, and return how each fared, in their order.

        With `atomic` they go as one batch, of which one that is wrong refuses all.
        """
        given = [entries] if isinstance(entries, Mapping) else entries
        pushed: list[models.PushedItem] = []
        start = 0
        for batch in [list(given)] if atomic else split_entries(given):
            body = {"entries": batch, "atomic": atomic}
            answer = await self._link.read(
                models.PushedEntries, "POST", "/v1/entries", json=body, params=params
            )
            for item in answer.items:
                index = start + item.index
                pushed.append(item.model_copy(update={"index": index}))
            start += len(batch)
        return pushed

    async def entry(self, ref: str, revision: int | None = None) -> models.EntryOut:
        """Return an entry by id, source_uri, permalink, source/number or number."""
        pinned = _PERMALINK.fullmatch(ref)
        if pinned and revision is None and pinned[3]:
            revision = int(pinned[3])
        for path in _paths(ref):
            with suppress(NotFoundError):
                return await self._entry(path, revision)
        page = await self._link.get(
            models.EntryPage, "/v1/entries", external_id=ref, limit=2
        )
        if len(page.items) > 1:
            several = ", ".join(f"{o.source}/{o.external_id}" for o in page.items)
            raise InvalidRequestError(f"{ref!r} may be any of: {several}.")
        for one in page.items:
            return await self._entry(f"/v1/entries/{one.entry_id}", revision)
        raise NotFoundError(f"No entry is called {ref!r}.")

    async def _entry(self, path: str, revision: int | None) -> models.EntryOut:
        if path.startswith("/e/") and revision is not None:
            path, revision = f"{path}@{revision}", None
        return await self._link.get(models.EntryOut, path, revision=revision)

    async def _path_of(self, ref: str) -> str:
        return f"/v1/entries/{(await self.entry(ref)).entry_id}"

    async def named_entry(self, source: str, external_id: str) -> models.EntryOut:
        """Return an entry by its facility's own number."""
        path = f"/e/{quote(source, safe='')}/{quote(external_id, safe='')}"
        return await self._link.get(models.EntryOut, path)

    async def put_named_entry(
        self, source: str, external_id: str, entry: Mapping[str, Any], **params: Any
    ) -> models.PushedEntry:
        """Make an entry or replace it, by its facility's own number."""
        path = f"/e/{quote(source, safe='')}/{quote(external_id, safe='')}"
        return await self._link.read(
            models.PushedEntry, "PUT", path, json=dict(entry), params=params
        )

    async def replace(
        self, entry_id: str, entry: Mapping[str, Any], revision: int | None = None
    ) -> models.PushedEntry:
        """Replace an entry; with `revision`, only if that is the newest."""
        path = f"/v1/entries/{entry_id}"
        return await self._link.read(
            models.PushedEntry, "PUT", path, json=dict(entry), headers=_match(revision)
        )

    async def change(
        self, entry_id: str, changes: Mapping[str, Any], revision: int | None = None
    ) -> models.PushedEntry:
        """Change some fields of an entry; null removes one."""
        path = f"/v1/entries/{entry_id}"
        return await self._link.read(
            models.PushedEntry,
            "PATCH",
            path,
            json=dict(changes),
            headers=_match(revision),
        )

    async def delete(self, entry_id: str, reason: str | None = None) -> None:
        """Leave a tombstone; a repeat is the same."""
        path = f"/v1/entries/{entry_id}"
        await self._link.ask("DELETE", path, params={"reason": reason})

    async def revisions(self, ref: str) -> AsyncIterator[models.RevisionOut]:
        """Give the revisions of an entry, the newest first."""
        path = f"{await self._path_of(ref)}/revisions"
        async for one in self._link.items(models.RevisionPage, path):
            yield one

    async def thread(self, ref: str) -> models.ThreadOut:
        """Return the whole thread of an entry, the oldest first."""
        path = f"{await self._path_of(ref)}/thread"
        return await self._link.get(models.ThreadOut, path)

    async def thread_by_id(self, thread_id: str) -> models.ThreadOut:
        """Return a thread by its own id."""
        return await self._link.get(models.ThreadOut, f"/v1/threads/{thread_id}")

    def entries(self, **filters: Any) -> AsyncIterator[models.EntryOut]:
        """Give every entry that filters leave, page by page."""
        params = read_filters(filters)
        return self._link.items(models.EntryPage, "/v1/entries", **params)

    async def changes(
        self, after: str | None = None, *, wait_ms: int = 0
    ) -> AsyncIterator[models.ChangeOut]:
        """Give additions, edits and deletions in order, up to now."""
        while True:
            page = await self._link.get(
                models.ChangePage, "/v1/changes", after=after, wait_ms=wait_ms or None
            )
            for one in page.items:
                yield one
            if not page.items:
                return
            after = page.next_after

    async def attachments(self, ref: str) -> models.AttachmentList:
        """List the files of an entry."""
        path = f"{await self._path_of(ref)}/attachments"
        return await self._link.get(models.AttachmentList, path)

    async def attach(
        self, ref: str, filename: str, content: bytes
    ) -> models.AttachmentOut:
        """Add a file to an entry."""
        path = f"{await self._path_of(ref)}/attachments"
        files = {"file": (filename, content)}
        return await self._link.read(models.AttachmentOut, "POST", path, files=files)

    async def attachment(self, attachment_id: str) -> bytes:
        """Return the bytes of a file."""
        return (await self._link.download(f"/v1/attachments/{attachment_id}")).content

    async def thumbnail(self, attachment_id: str) -> bytes:
        """Return a small picture of a file."""
        path = f"/v1/attachments/{attachment_id}/thumbnail"
        return (await self._link.download(path)).content


def _match(revision: int | None) -> dict[str, str]:
    return {} if revision is None else {"If-Match": f'"r{revision}"'}


def _paths(ref: str) -> list[str]:
    """Return where an entry may be that is called so, the likeliest first."""
    with suppress(ValueError):
        return [f"/v1/entries/{UUID(ref)}"]
    found = _URI.fullmatch(ref) or _PERMALINK.fullmatch(ref)
    if found:
        names = (unquote(found[1]), unquote(found[2]))
    else:
        source, slash, external_id = ref.partition("/")
        if not (source and slash and external_id):
            return []
        names = (source, external_id)
    return [f"/e/{quote(names[0], safe='')}/{quote(names[1], safe='')}"]
