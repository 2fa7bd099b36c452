"""What the conformance kit asks of a stub: a small real imitation of a source.

A stub speaks the original's wire format with its defects; the kit scripts it with the
verbs below and never looks inside.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol, runtime_checkable

FaultMode = Literal[
    "500",
    "429",
    "hang",
    "half_body",
    "wrong_length",
    "redirect_loop",
    "endless",
    "html_error",
    "login_page",
    "empty_listing",
    "cut_listing",
]


@dataclass(frozen=True, slots=True)
class StubFile:
    """A file beside a scripted entry."""

    filename: str
    content: bytes
    # On another origin than the source's own: to be linked, never fetched.
    foreign: bool = False
    # Named by the entry, and not there.
    missing: bool = False


@dataclass(frozen=True, slots=True)
class StubEntry:
    """An entry as the kit scripts it; a stub says it in its own format."""

    # A number in decimal digits, which sources with ids of their own may use as such.
    number: int
    time: datetime
    title: str = "Title"
    text: str = "Text"
    author: str | None = "a.author"
    logbook: str = "Operations"
    tags: tuple[str, ...] = ()
    # The number of the parent.
    reply_to: int | None = None
    files: tuple[StubFile, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)
    # Written over the time's place in the answer, to be malformed on purpose.
    raw_time: str | None = None
    # Not finished in its source, or held by its writer; `edit(id, draft=False)` ends
    # it. Only where the adapter's capabilities name `drafts`.
    draft: bool = False


class Stub(Protocol):
    """One running imitation; made anew for every test and closed after it."""

    def settings(self) -> Mapping[str, Any]:
        """Return the settings in `sources: {name: ...}`; asked at every run.

        A module with stubs is `tests/contract/stubs/<adapter>.py` and has `make_stub`.
        """

    def add(self, entry: StubEntry) -> str:
        """Take an entry in and return its external id, as the adapter will call it."""

    def edit(self, external_id: str, **changes: Any) -> str:
        """Change fields of StubEntry; return the id, new where an edit makes one."""

    def delete(self, external_id: str) -> None:
        """Remove it as the original does."""

    def malform(self, external_id: str) -> None:
        """Spoil the item in place, so that it cannot be parsed; `edit` mends it."""

    def set_bytes(self, external_id: str, field_name: str, data: bytes) -> None:
        """Put raw bytes into title or text, where the wire is bytes in a charset."""

    def clock_offset(self, seconds: float) -> None:
        """Let the source's own clock go wrong; LookupError where ids are the order."""

    def fault(self, mode: FaultMode, times: int = 1) -> None:
        """Let the next answers go wrong; those that cannot raise LookupError."""

    def requests(self) -> Sequence[str]:
        """Return method and target of every request so far."""

    def close(self) -> None:
        """Stop it."""


@runtime_checkable
class WritesSnapshots(Protocol):
    """A stub of a server whose entries exist as a file, too."""

    def snapshot(self, external_ids: Sequence[str]) -> bytes:
        """Return a file of these entries, as their facility hands it out."""


@runtime_checkable
class AddsMany(Protocol):
    """A stub that would write everything anew for each entry, and need not."""

    def add_many(self, entries: Sequence[StubEntry]) -> Sequence[str]:
        """Take entries in at once; return their external ids in the same order."""
