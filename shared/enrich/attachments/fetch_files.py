"""Fetch the files of an entry from its source, each for itself."""

import mimetypes
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import BinaryIO

from psycopg import Connection

from shared.adapter_contract.entry import AttachmentRef
from shared.enrich.attachments import attachment_states, keep_files
from shared.enrich.attachments.attachment_states import Before, Due, FileContents
from shared.enrich.attachments.extract_text import ExtractionBounds
from shared.enrich.attachments.file_store import FileStore
from shared.errors import (
    ConfigurationError,
    IngestionError,
    InvalidRequestError,
    LogchordError,
    SourceUnreachableError,
)
from shared.log import get_logger
from shared.postgres.pool import Pool, connection
from shared.sources.intake.attachment_file import NO_ADDRESS

log = get_logger()

_PASSWORD = re.compile(rb"(?i)\btype\s{0,9}=\s{0,9}[\"']?password\b")
_PAGES = (".html", ".htm", ".xhtml", ".mhtml")
_PAGE_BYTES = 65_536
_PIECE_BYTES = 1_048_576
# It stays where it is, and readers are told where.
_LINKED = frozenset({"address_refused", keep_files.TOO_LARGE})
# The source refuses everything: these say nothing of the one file.
_OF_THE_SOURCE = frozenset(
    {
        *("not_authorised", "login_required", "moved", "tls", "name_unknown"),
        *("unusable_request", "no_path", "paced", "cancelled", "out_of_time"),
    }
)
# One file may be half written, or be what makes the server give up.
_OF_ONE_FILE = frozenset({"half_body", "empty_reply"})


# Opens a file at its source, given how many bytes it may have, piece by piece; raises
# what `shared.http.paced_client` raises.
Fetch = Callable[[AttachmentRef, int], AbstractContextManager[Iterator[bytes]]]


@dataclass(frozen=True, slots=True)
class Means:
    """What fetching needs besides the source."""

    pool: Pool
    store: FileStore
    bounds: ExtractionBounds
    max_bytes: int
    max_per_entry: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """How fetching the files of an entry ended."""

    # Some are left, for which there was no time.
    unfinished: bool = False
    # Some could not be fetched, and may be later.
    error: LogchordError | None = None
    # It was not the one file's: the source is to be left alone for a while.
    is_everywhere: bool = False


def fetch_all(
    means: Means, due: Sequence[Due], fetch: Fetch | None, *, begin_until: float
) -> Outcome:
    """Fetch the due files while there is time; without a source they stay links."""
    later: LogchordError | None = None
    for place, one in enumerate(due):
        if place and time.monotonic() >= begin_until:
            return Outcome(unfinished=True, error=later)
        error = _fetch(means, one, fetch)
        if error is not None:
            with connection(means.pool) as conn:
                attachment_states.record_failure(conn, one, error)
            if not _is_of_one(error):
                # The next file would fail likewise.
                return Outcome(error=error, is_everywhere=True)
            later = later or error
    return Outcome(error=later)


def read_all_anew(
    means: Means, before: Sequence[Before], *, begin_until: float
) -> Outcome:
    """Read stored files once more until the time is over; their source is not asked.

    What is not in the store any more keeps what was read in it.
    """
    for place, one in enumerate(before):
        if place and time.monotonic() >= begin_until:
            return Outcome(unfinished=True)
        if means.store.has(one.sha256, one.bytes):
            _read_anew(means, one)
    return Outcome()


def _read_anew(means: Means, one: Before) -> None:
    opened = means.store.open(one.sha256)
    found: FileContents | None = None
    refused: LogchordError | None = None
    with keep_files.receive_file(
        _pieces(opened), one.filename, max_bytes=one.bytes
    ) as got:
        try:
            found = keep_files.extract_contents(got, means.bounds)
        except InvalidRequestError as exc:
            refused = exc
    with connection(means.pool) as conn:
        attachment_states.read_anew(conn, one, found, refused)


@contextmanager
def _pieces(opened: AbstractContextManager[BinaryIO]) -> Iterator[Iterator[bytes]]:
    with opened as file:
        yield iter(lambda: file.read(_PIECE_BYTES), b"")


def give_up(conn: Connection, due: Sequence[Due], error: LogchordError) -> None:
    """Mark files as failed for good after too many attempts."""
    for one in sorted(due, key=lambda one: one.id):
        attachment_states.end(conn, one, "failed", error=_failed(error))


def _fetch(means: Means, one: Due, fetch: Fetch | None) -> LogchordError | None:
    """Fetch a file and store its outcome; return an error that is worth a retry."""
    refused = _refusal(means, one)
    if fetch is None or refused:
        _end(means, one, "linked", refused if fetch else None)
        return None
    try:
        opened = fetch(one.ref, means.max_bytes)
        most = means.max_bytes
        with keep_files.receive_file(opened, one.filename, max_bytes=most) as got:
            _keep(means, one, got)
    except InvalidRequestError as exc:
        _end(means, one, "failed", exc)
    except IngestionError as exc:
        if isinstance(exc, SourceUnreachableError) or exc.reason in _OF_THE_SOURCE:
            return exc
        is_linked = exc.reason == NO_ADDRESS or (
            one.url is not None and exc.reason in _LINKED
        )
        _end(means, one, "linked" if is_linked else "failed", exc)
    except ConfigurationError as exc:
        return exc
    return None


def _refusal(means: Means, one: Due) -> IngestionError | None:
    """Return why a file is not asked for: the settings allow fewer or smaller ones."""
    if one.position >= means.max_per_entry:
        message = (
            f"It is the file {one.position + 1} of its entry, of which the first"
            f" {means.max_per_entry} are fetched (`max_attachments_per_entry`)."
        )
        return IngestionError(message, reason="too_many")
    if (one.declared_bytes or 0) > means.max_bytes:
        message = (
            f"It is said to have {one.declared_bytes} bytes, more than"
            f" `max_attachment_bytes` ({means.max_bytes})."
        )
        return IngestionError(message, reason="declared_too_large")
    return None


def _is_of_one(error: LogchordError) -> bool:
    """Tell whether a source may fail at one file and give the next."""
    reason = error.reason if isinstance(error, IngestionError) else None
    return reason is not None and (reason in _OF_ONE_FILE or reason[:6] == "http_5")


def _keep(means: Means, one: Due, got: keep_files.Received) -> None:
    if _is_login_page(one, got):
        message = "The source sends a login page instead of the file; check `auth`."
        raise IngestionError(message, reason="login_required")
    if _is_page_instead(one, got):
        message = (
            "The source sends a page instead of the file, as if it had it no more."
        )
        raise IngestionError(message, reason="page_instead")
    found = keep_files.extract_contents(got, means.bounds)
    with keep_files.store_file(means.pool, means.store, got) as conn:
        attachment_states.end(conn, one, "stored", stored=found)


def _is_page(one: Due, got: keep_files.Received) -> bool:
    """Tell whether a page came with status 200 where no page was asked for."""
    if got.media_type != "text/html" or "html" in (one.declared_type or ""):
        return False
    return not one.filename.lower().endswith(_PAGES)


def _is_page_instead(one: Due, got: keep_files.Received) -> bool:
    """Tell whether a file by its name is something that no page can be."""
    named, _ = mimetypes.guess_type(one.filename)
    is_text = named is None or named.startswith("text/")
    return _is_page(one, got) and not is_text


def _is_login_page(one: Due, got: keep_files.Received) -> bool:
    """Tell whether a page asks for a password."""
    if not _is_page(one, got):
        return False
    got.file.seek(0)
    return _PASSWORD.search(got.file.read(_PAGE_BYTES)) is not None


def _end(
    means: Means, one: Due, state: str, error: LogchordError | None = None
) -> None:
    if isinstance(error, IngestionError):
        error = _failed(error)
    if error is not None:
        log.info(
            "attachment_not_stored",
            attachment_id=str(one.id),
            state=state,
            code=error.error_code,
            details=error.details,
        )
    with connection(means.pool) as conn:
        attachment_states.end(conn, one, state, error=error)


def _failed(error: LogchordError) -> IngestionError:
    reason = error.reason if isinstance(error, IngestionError) else error.error_code
    return IngestionError(error.message, code="attachment_fetch_failed", reason=reason)
