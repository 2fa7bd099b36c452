"""What is read of candidates before they are ranked; ranking itself reads nothing."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from shared.search.jobs.outcome import Outcome


@dataclass(frozen=True, slots=True)
class Kin:
    """Whom an entry belongs to: its thread, copies, machine's series and logbooks."""

    thread_id: str | None = None
    group_id: str | None = None
    series_id: str | None = None
    logbooks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Facts:
    """By entry; what is not known changes no order."""

    # Of what the branch by meaning did not return; an entry without a vector is absent.
    cosines: Mapping[str, float] = field(default_factory=dict)
    # To the question moved towards its best hits; none: it was not moved.
    moved: Mapping[str, float] = field(default_factory=dict)
    kin: Mapping[str, Kin] = field(default_factory=dict)
    # How it is near, of an entry that is: `NAMED` and others of `Ordering.near`.
    near: Mapping[str, Collection[str]] = field(default_factory=dict)
    # False: they could not be read in time, so nothing can be reranked.
    in_time: bool = True
    # Of those that a cross-encoder has read, what it said.
    logits: Mapping[str, float] = field(default_factory=dict)
    # Why none has read them though it was to, and as a branch of the search.
    unread_because: str | None = None
    unread: Outcome | None = None
    # Of each sub-query, its own.
    parts: tuple[Facts, ...] = ()
    # The cosine of each to the whole question, and why there is none.
    validation: Mapping[str, float] = field(default_factory=dict)
    unvalidated_because: str | None = None


UNREAD = Facts(in_time=False)
