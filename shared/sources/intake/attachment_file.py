"""A file beside an entry, opened at its source: by its adapter, or by its address."""

from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, closing, nullcontext

from shared.adapter_contract.contract import Adapter, FetchesAttachments, SourceIO
from shared.adapter_contract.entry import AttachmentRef
from shared.errors import IngestionError

NO_ADDRESS = "no_address"


def open_attachment(
    adapter: Adapter, io: SourceIO, ref: AttachmentRef, max_bytes: int
) -> AbstractContextManager[Iterator[bytes]]:
    """Ask the adapter for a file, or its address where the adapter has nothing else."""
    if isinstance(adapter, FetchesAttachments):
        pieces: Iterator[bytes] = adapter.fetch_attachment(ref)
        if isinstance(pieces, Generator):
            # What is cut off in the middle hangs up at once.
            return closing(pieces)
        return nullcontext(pieces)
    if ref.url is None:
        message = "The source names this file, and says nowhere where it is."
        raise IngestionError(message, reason=NO_ADDRESS)
    return io.http.stream(ref.url, max_bytes=max_bytes)
