"""Facts about candidates, read before they are ranked; ranking itself reads nothing."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from shared.search.jobs.outcome import Outcome


@dataclass(frozen=True, slots=True)
class Kin:
    """What an entry belongs to: its thread, copies, machine's series and logbooks."""

    thread_id: str | None = None
    group_id: str | None = None
    series_id: str | None = None
    logbooks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts by entry; where a fact is missing, the order does not depend on it."""

    # Cosines of entries that the branch by meaning did not return; an entry without a
    # vector is absent.
    cosines: Mapping[str, float] = field(default_factory=dict)
    # Cosines to the question moved towards its best hits; empty: it was not moved.
    moved: Mapping[str, float] = field(default_factory=dict)
    kin: Mapping[str, Kin] = field(default_factory=dict)
    # How an entry is near to the question: `NAMED` and other ways of `Ordering.near`.
    near: Mapping[str, Collection[str]] = field(default_factory=dict)
    # False: they could not be read in time, so nothing can be reranked.
    in_time: bool = True
    # The logits of the entries that a cross-encoder has read.
    logits: Mapping[str, float] = field(default_factory=dict)
    # Why no model has read the entries though one was to, and that as an outcome.
    unread_because: str | None = None
    unread: Outcome | None = None
    # The facts of each sub-query, by its number.
    parts: tuple[Facts, ...] = ()
    # The cosine of each entry to the whole question, or why nobody compared.
    validation: Mapping[str, float] = field(default_factory=dict)
    unvalidated_because: str | None = None


UNREAD = Facts(in_time=False)
