"""A file that lies at an address instead of in a folder."""

import hashlib
import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import BinaryIO

from shared.adapter_contract.conditional_fetch import Answered, if_changed
from shared.adapter_contract.contract import FileStat, SourceIO
from shared.errors import IngestionError


class FetchedFile:
    """One address; its content tells whether it has changed."""

    def __init__(self, source_io: SourceIO, url: str, read_by: str | None) -> None:
        self._io = source_io
        self._url = url
        self._read_by = read_by
        self._body = b""
        self._answered: Answered | None = None

    def names(self) -> list[str]:
        """Return the address."""
        return [self._url]

    def stat(self, name: str, known: Mapping[str, str]) -> FileStat | None:
        """Fetch the file, unless its server says that it is still the one `known`."""
        before = Answered.read(known)
        reply = if_changed(self._io.http, name, before, self._read_by)
        if reply is None:
            return None
        if not reply.body.strip():
            message = "The address answers with nothing, which is no list of records."
            raise IngestionError(message, reason="unexpected_shape")
        self._body = reply.body
        self._answered = Answered.of(reply, name, self._read_by)
        digest = hashlib.sha256(reply.body).digest()
        return FileStat(len(reply.body), 0, int.from_bytes(digest[:6]))

    @property
    def answer(self) -> dict[str, str]:
        """Return by what its server knows the last answer again."""
        return self._answered.kept() if self._answered else {}

    @contextmanager
    def open(self, name: str) -> Iterator[BinaryIO]:  # noqa: ARG002 - there is but one
        """Open the fetched file for reading."""
        yield io.BytesIO(self._body)
