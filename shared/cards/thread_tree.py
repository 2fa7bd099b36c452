"""The entries of a thread as a tree: what answers what."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple
from uuid import UUID

from shared.entries.reading.read_entries import EntryView


class Node(NamedTuple):
    """An entry in its place: flat, for replies to replies may go on for ever."""

    entry_id: UUID
    parent_id: UUID | None
    depth: int


# Names within a source: of what was superseded, and of what took its place.
Replaced = Mapping[tuple[str, str], str]
_NOTHING: Replaced = MappingProxyType({})


def tree(entries: Sequence[EntryView], replaced: Replaced = _NOTHING) -> list[Node]:
    """Return the entries as a tree, each behind the one that it replies to.

    Whose parent is not among them, or answers it in a circle, begins a branch; in the
    place of a parent stands what has superseded it.
    """
    ids = {(one.source, one.external_id): one.entry_id for one in entries}
    parents: dict[UUID, UUID] = {}
    replies: dict[UUID | None, list[UUID]] = defaultdict(list)
    for one in entries:
        parent = ids.get(_standing(ids, replaced, (one.source, one.reply_to or "")))
        if parent is not None and not _answers(parents, parent, one.entry_id):
            parents[one.entry_id] = parent
        replies[parents.get(one.entry_id)].append(one.entry_id)
    found: list[Node] = []
    waiting = [Node(one, None, 0) for one in reversed(replies[None])]
    while waiting:
        node = waiting.pop()
        found.append(node)
        below = reversed(replies[node.entry_id])
        waiting += [Node(one, node.entry_id, node.depth + 1) for one in below]
    return found


def _standing(
    ids: Mapping[tuple[str, str], UUID], replaced: Replaced, name: tuple[str, str]
) -> tuple[str, str]:
    """Return the entry that replaced another, or the last name on the way there."""
    for _ in replaced:
        if name in ids or name not in replaced:
            break
        name = (name[0], replaced[name])
    return name


def _answers(parents: dict[UUID, UUID], one: UUID, other: UUID) -> bool:
    """Tell whether an entry answers another, however far up, or is it."""
    at: UUID | None = one
    while at is not None and at != other:
        at = parents.get(at)
    return at is not None
