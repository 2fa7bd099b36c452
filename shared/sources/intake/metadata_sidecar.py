"""The `metadata.json` beside an entry: an object that belongs to its metadata.

It is fetched before the entry is stored and kept with what was received, so that
whoever reads that again has it too. A file that cannot be had is told by a flag.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

from shared.adapter_contract.contract import RawItem
from shared.adapter_contract.entry import AttachmentRef, Entry
from shared.entries.saving import payloads
from shared.errors import IngestionError, InvalidRequestError
from shared.log import get_logger
from shared.postgres.pool import Pool, connection
from shared.sources.intake import attachment_file
from shared.sources.load_adapter import Opened
from shared.text import door

log = get_logger()

NAME = "metadata.json"
FLAG = "metadata_failed"
FETCH_SECONDS = 5.0
# The most time for one page; a slower one is stored in parts, a task for each.
PAGE_SECONDS = 15.0

_MAX_VALUES = 10_000
_MARK = b"\xef\xbb\xbf"
# It was not asked, or the run is to stop: the entry waits for its next turn.
_NO_FAILURE = frozenset({"cancelled", "paced"})

Pair = tuple[RawItem, Entry]
# Opens the source once more, to be asked until that time by the monotonic clock.
Reach = Callable[[float], AbstractContextManager[Opened]]


@dataclass(slots=True)
class Beside:
    """Merges what lies beside the entries of one run; without `reach` it asks nobody.

    Of two values of one name that of the entry stands.
    """

    _pool: Pool
    _tenant: str
    _source: str
    _reach: Reach | None
    _page_seconds: float = PAGE_SECONDS

    def merge(self, pairs: Sequence[Pair]) -> list[Pair]:
        """Return the pairs with their files; the first ones, if the time is over."""
        named = [item.external_id for item, entry in pairs if ref_of(entry)]
        if not named:
            return list(pairs)
        with connection(self._pool) as conn:
            kept = payloads.beside(conn, self._tenant, self._source, named)
        ends = time.monotonic() + self._page_seconds
        merged: list[Pair] = []
        for item, entry in pairs:
            ref = ref_of(entry)
            if ref is None:
                merged.append((item, entry))
                continue
            found = _known(item, kept.get(item.external_id))
            if found is None and self._reach is not None:
                if merged and time.monotonic() >= ends:
                    return merged
                found = self._fetched(self._reach, item, ref)
            merged.append((replace(item, beside=found), with_file(entry, found)))
        return merged

    def _fetched(
        self, reach: Reach, item: RawItem, ref: AttachmentRef
    ) -> dict[str, Any] | None:
        try:
            with reach(time.monotonic() + FETCH_SECONDS) as opened:
                return _object(_read(opened, ref))
        except IngestionError as exc:
            if exc.reason in _NO_FAILURE:
                raise
            code, reason = exc.error_code, exc.reason
        except InvalidRequestError as exc:
            code, reason = exc.error_code, "no_object"
        log.info(
            "metadata_not_merged",
            source=self._source,
            external_id=item.external_id,
            code=code,
            reason=reason,
        )
        return None


def ref_of(entry: Entry) -> AttachmentRef | None:
    """Return the attachment that holds metadata, if the entry has one."""
    named = (one for one in entry.attachments if one.filename.lower() == NAME)
    return next(named, None)


def with_file(entry: Entry, found: Mapping[str, Any] | None) -> Entry:
    """Return the entry with what its file says, or with the flag that it is missing."""
    if found is None:
        return replace(entry, flags=(*entry.flags, FLAG))
    return replace(entry, metadata={**found, **entry.metadata})


def _known(item: RawItem, kept: RawItem | None) -> Mapping[str, Any] | None:
    """Return the sidecar fetched now, or the stored one if the payload is the same."""
    if item.beside is not None:
        return item.beside
    return kept.beside if kept and kept.payload == item.payload else None


def _read(opened: Opened, ref: AttachmentRef) -> bytes:
    most = opened.source.max_entry_bytes
    data = bytearray()
    with attachment_file.open_attachment(
        opened.adapter, opened.io, ref, most
    ) as pieces:
        for piece in pieces:
            data += piece
            if len(data) > most:
                message = f"The file is larger than {most} bytes."
                raise IngestionError(message, reason="too_large")
    return bytes(data)


def _object(data: bytes) -> dict[str, Any]:
    value = door.parse_json(data.removeprefix(_MARK), max_values=_MAX_VALUES)
    if not isinstance(value, dict):
        message = f"It holds a {type(value).__name__}, and no object."
        raise InvalidRequestError(message, code="invalid_json")
    return value
