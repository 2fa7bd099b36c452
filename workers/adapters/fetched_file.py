"""A file that lies at an address instead of in a folder."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from shared.entries.adapter import FileStat, SourceIO
from shared.errors import IngestionError

_NOT_MODIFIED = 304


class FetchedFile:
    """One address; its content tells whether it has changed."""

    def __init__(self, source_io: SourceIO, url: str) -> None:
        self._io = source_io
        self._url = url
        self._body = b""

    def names(self) -> list[str]:
        """Return the address."""
        return [self._url]

    def stat(self, name: str, *, anew: bool) -> FileStat | None:
        """Fetch it, unless its server says that it has not changed."""
        reply = self._io.http.get(name, conditional=not anew)
        if reply.status == _NOT_MODIFIED:
            return None
        if not reply.body.strip():
            message = "The address answers with nothing, which is no list of records."
            raise IngestionError(message, reason="unexpected_shape")
        self._body = reply.body
        digest = hashlib.sha256(reply.body).digest()
        return FileStat(len(reply.body), 0, int.from_bytes(digest[:6]))

    @contextmanager
    def open(self, name: str) -> Iterator[BinaryIO]:  # noqa: ARG002 - there is but one
        """Read what was fetched."""
        yield io.BytesIO(self._body)
