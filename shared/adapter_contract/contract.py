"""What an adapter is: a class that knows the wire of one logbook software.

What it may import of ours, `workers/adapters/kit/imports.py` holds: no Postgres, no
leases, schedules or metrics. These are the business of a run (`shared.sources.runs`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, BinaryIO, ClassVar, Literal, Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict

from shared.adapter_contract.entry import AttachmentRef, Entry

MAX_CURSOR_BYTES = 8192

# A JSON object, owned by the adapter, whose key `v` names its format.
Cursor = Mapping[str, Any]


class AdapterArgs(BaseModel):
    """The settings of an adapter beyond those of every source."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", use_attribute_docstrings=True
    )

    def names_by(self) -> tuple[str, ...]:
        """Return the settings that name a record: changed ones make other entries."""
        return ()


@dataclass(frozen=True, slots=True)
class AdapterCapabilities:
    """The capabilities of a source, by which the runtime chooses how to ask."""

    # How `pages` come, by which the tail goes on from its cursor: by the time of the
    # last change, of writing, or by an id that only grows. `none`: there is no such
    # order; the tail compares `list_ids` with what is stored and asks `fetch`.
    order: Literal[
        "modified_asc", "created_asc", "id_asc", "created_desc", "modified_desc", "none"
    ]
    # How an edit shows: behind the cursor; by another stamp in `list_ids`; only when
    # the entry is read again; there are none; they cannot be seen.
    edits: Literal["cursor", "index", "rescan", "append_only", "invisible"]
    # How a deletion shows: an item says so, and `parse` returns `deleted`; its id is
    # absent from `list_ids`; it is absent from a window, or a whole source, that is
    # read again; there are none; they cannot be seen.
    deletes: Literal["flagged", "index", "rescan", "impossible", "invisible"]
    # How replies are told: `Entry.reply_to`; the parent names them; a key that a thread
    # shares (`thread_key`); nested in the parent's answer; by "Re:" alone; not at all.
    replies: Literal["parent", "children", "group", "nested", "title", "none"]
    # Where files are: in the item; behind `AttachmentRef.url`; behind an id that
    # `fetch_attachment` knows.
    attachments: Literal["inline", "by_url", "by_id", "none"]
    # Who may read is said of each entry, or of each logbook.
    readers: Literal["entry", "book", "none"] = "none"
    # `pages` stays inside the window it is given: history comes newest window first.
    windows: bool = False
    # It shows its newest entries alone: what is older than these cannot be had.
    only_newest: bool = False
    # An edit is a new entry that names the old one in `supersedes`.
    edit_makes_new_id: bool = False
    # Pages say in `total` how many entries there are.
    counts: bool = False
    # One number in two logbooks is two entries: the id names the logbook, too.
    scoped_ids: bool = False
    # Entries may be unfinished; they are held back until they are not.
    drafts: bool = False


@dataclass(frozen=True, slots=True)
class AdapterDescriptor:
    """An adapter's name, settings and promises; the conformance kit proves them."""

    name: str
    title: str
    # Raised when `parse` changes its meaning: every entry is then parsed again.
    version: int
    capabilities: AdapterCapabilities
    args: type[AdapterArgs] = AdapterArgs
    # Its times may lack a zone: it does not start without the source's `timezone`.
    naive_times: bool = False
    min_overlap_seconds: float = 1
    max_records_per_page: int = 500
    max_concurrency: int = 2
    # Names that the peer's configurations use.
    aliases: tuple[str, ...] = ()
    # Whether the source is a server (`base_url`) or files (`path`).
    place: Literal["base_url", "path", "either", "none"] = "base_url"
    # The next page may be read and parsed, in a thread of its own, while this one is
    # stored: to ask costs the source nothing, and nothing of it is bound to a thread.
    reads_ahead: bool = False


@dataclass(frozen=True, slots=True)
class Source:
    """A configured source, as far as its adapter may know it."""

    name: str
    base_url: str | None = None
    path: str | None = None
    timezone: str | None = None
    tz_fold: int = 0
    locale: str | None = None
    language: str | None = None
    # Already within what the descriptor allows.
    page_size: int = 500
    overlap_seconds: float = 120
    history_start: datetime | None = None
    request_timeout_seconds: float = 15
    max_entry_bytes: int = 1_000_000
    # What changes with the parser and with any setting that decides what is read;
    # None: what is known of it counts for nothing, as in a dry run.
    read_by: str | None = None
    args: Any = field(default_factory=AdapterArgs)


@dataclass(frozen=True, slots=True)
class Window:
    """A half-open interval of the times that the source can be asked by."""

    start: datetime | None = None
    end: datetime | None = None


@dataclass(frozen=True, slots=True)
class RawItem:
    """One future entry exactly as received; what a source nests is flattened before."""

    external_id: str
    # The JSON value where the media type is application/json, else bytes.
    payload: Any
    media_type: str = "application/json"
    charset: str | None = None
    url: str | None = None
    fetched_at: datetime | None = None
    # What the listing of ids said of it.
    stamp: str | None = None
    # What a `metadata.json` beside it says; the runtime fetches it.
    beside: Mapping[str, Any] | None = None
    # A digest of the bytes that it came in, if the adapter has them at hand, and their
    # number: it spares the runtime from writing the payload out again.
    digest: str | None = None
    size: int = 0
    # The runtime knows it, and has it read again by other settings alone.
    is_anew: bool = False


@dataclass(frozen=True, slots=True)
class Gap:
    """A stretch of time, or of ids, that could not be read."""

    start: datetime | None
    end: datetime | None
    reason: str


@dataclass(frozen=True, slots=True)
class AdapterPage:
    """Some items, and the cursor that is safe once they are committed."""

    items: tuple[RawItem, ...]
    cursor: Cursor
    gaps: tuple[Gap, ...] = ()
    # How many the source says there are, in the window asked for.
    total: int | None = None
    # The source's time up to which everything was seen.
    complete_to: datetime | None = None
    # Nothing is asked for after it: the run may end here without another request.
    is_last: bool = False


@dataclass(frozen=True, slots=True)
class IdStamp:
    """An id that the source lists, and what changes with its entry, if anything."""

    external_id: str
    stamp: str | None = None


@dataclass(frozen=True, slots=True)
class Recognition:
    """What an address may be: the settings found, and those that are missing."""

    settings: Mapping[str, Any]
    confidence: float
    why: str
    asks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceReport:
    """The answers to the harmless questions of `check`."""

    # True of whoever answers: what cannot be reached, or refuses, raises an error.
    reachable: bool = True
    authorised: bool = True
    newest: datetime | None = None
    timezone_guess: str | None = None
    entries: int | None = None
    restricted: tuple[str, ...] = ()
    # Books whose entries nobody may read here, as it is configured.
    hidden: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


# The status of a reply in which the server hung up without a byte.
NO_STATUS = 0


class Reply(Protocol):
    """An answer of the source, whole and within its bounds."""

    @property
    def status(self) -> int:
        """200, or what `allow` let through."""

    @property
    def url(self) -> str:
        """The address that the answer came from."""

    @property
    def headers(self) -> Mapping[str, str]:
        """By lower-case name."""

    @property
    def body(self) -> bytes:
        """Unpacked; empty when not modified."""

    @property
    def media_type(self) -> str:
        """Lower case, without parameters."""

    @property
    def charset(self) -> str | None:
        """As declared."""

    @property
    def fetched_at(self) -> datetime:
        """When the request was sent."""

    def text(self) -> str:
        """Return the body as text, repaired where it must be."""

    def json(self) -> Any:
        """Return the body as JSON, or raise `unexpected_shape`."""


class SourceHTTP(Protocol):
    """Requests with the manners of `shared.http.paced_client`: bounded, paced, retried.

    Raises SourceUnreachableError or IngestionError; never another exception.
    """

    def get(
        self,
        url: str,
        *,
        params: Mapping[str, Any] | Sequence[tuple[str, Any]] | None = None,
        headers: Mapping[str, str] | None = None,
        allow: Sequence[int] = (),
    ) -> Reply:
        """Ask; `allow` names statuses besides 200 that are answers (404, NO_STATUS)."""

    def post(
        self,
        url: str,
        *,
        body: bytes,
        media_type: str = "application/json",
        headers: Mapping[str, str] | None = None,
        allow: Sequence[int] = (),
    ) -> Reply:
        """Ask a question whose form is a POST; nothing is ever written by it."""

    def stream(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        max_bytes: int | None = None,
    ) -> AbstractContextManager[Iterator[bytes]]:
        """Read a large answer piece by piece, cut off at its bound."""


class Memory(Protocol):
    """Small JSON values of a source, written in the commit of the next page."""

    def get(self, key: str) -> Any:
        """Return the stored value, or None."""

    def put(self, key: str, value: Any) -> None:
        """Store a value with the next page's commit; None removes it."""


class SourceFiles(Protocol):
    """Files below the source's `path`, and nothing else of this machine.

    Of one that has gone since it was listed, FileGoneError is raised.
    """

    def names(self, pattern: str | None = None) -> list[str]:
        """Return the files of the path (a file, a folder or a glob), sorted."""

    def open(self, name: str) -> AbstractContextManager[BinaryIO]:
        """Open a file for reading; a gzip file is unpacked while it is read."""

    def stat(self, name: str) -> FileStat:
        """Return the size and times by which a file is known to have changed."""


@dataclass(frozen=True, slots=True)
class FileStat:
    """The size and times of a file, which tell its versions apart."""

    size: int
    mtime_ns: int
    inode: int


class SourceIO(Protocol):
    """Everything that an adapter may reach outside of itself."""

    @property
    def http(self) -> SourceHTTP:
        """The source's server."""

    @property
    def files(self) -> SourceFiles:
        """The source's files."""

    @property
    def memory(self) -> Memory:
        """Values that the source remembers beside its cursor."""

    def now(self) -> datetime:
        """Return the time, aware, by the clock of the runtime."""

    def secret(self, name: str) -> str:
        """Return a secret by the name that the settings give it."""

    def is_cancelled(self) -> bool:
        """Tell whether the run is to end; asked within long loops."""


class Adapter(Protocol):
    """One logbook software. What is optional is announced by its capabilities."""

    descriptor: ClassVar[AdapterDescriptor]

    def __init__(self, source: Source, io: SourceIO) -> None: ...

    def pages(
        self, since: Cursor | None, window: Window | None = None
    ) -> Iterator[AdapterPage]:
        """Yield pages from the cursor on; none held once the next is asked for."""

    def parse(self, raw: RawItem) -> Entry:
        """Return the entry of an item; pure, or MalformedEntryError."""


@runtime_checkable
class ListsIds(Protocol):
    """An adapter whose source lists its ids."""

    def list_ids(self, window: Window | None) -> Iterator[IdStamp]:
        """Yield every id of the window; None: of the whole source."""


@runtime_checkable
class Fetches(Protocol):
    """An adapter that can read one entry by its id."""

    def fetch(self, external_id: str) -> RawItem | None:
        """Return the item; None: the source says that it is gone."""


@runtime_checkable
class FetchesAttachments(Protocol):
    """An adapter with attachments that are more than an address."""

    def fetch_attachment(self, ref: AttachmentRef) -> Iterator[bytes]:
        """Yield the bytes of a file."""


@runtime_checkable
class ReadsInPart(Protocol):
    """An adapter that reads on where its source refuses a part of itself."""

    def unread(self) -> Mapping[str, str]:
        """Return how the ids of what was refused to it begin, each with the reason."""


@runtime_checkable
class Checks(Protocol):
    """An adapter that can say more about its source than its first page does."""

    def check(self) -> SourceReport:
        """Ask harmless questions."""


class Recognises(Protocol):
    """An adapter that knows its software by its answers."""

    @classmethod
    def recognise(cls, url: str, io: SourceIO) -> Recognition | None:
        """Look at an address with at most three requests and no login."""
