"""Physical indices behind a read and a write alias: made, looked at, moved.

Searches and writes know the aliases alone. While an index is made anew, the write alias
is at the new one and the read alias at the old one, and both are written to.
"""

import re
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from opensearchpy import OpenSearch

from shared.errors import OpenSearchError
from shared.opensearch.client import translate_engine_errors
from shared.opensearch.mapping import (
    FILLING,
    LIVE,
    MAPPING_VERSION,
    make_index_body,
    read_alias,
    write_alias,
)

_PATIENT = {"request_timeout": 30}
_FIRST_USE_NS = 3600 * 10**9
_NOT_FOUND = 404
_EXISTS = "resource_already_exists_exception"
_VERSION = re.compile(r"-v([0-9]+)-[^-]")


@dataclass(frozen=True, slots=True)
class Indices:
    """The indices of a name; all is well when one is behind both aliases."""

    base: str
    read: str | None
    write: str | None
    # Behind no alias: of a rebuild that was given up, or about to be used.
    bare: tuple[str, ...]
    # Behind an alias, and without some field of our documents.
    lacking: tuple[str, ...] = ()

    @property
    def written(self) -> list[str]:
        """Return the aliases that documents are written to, the searched one first.

        Aliases, and not what is behind them: they may move before the write arrives.
        """
        if self.read is None:
            return [write_alias(self.base)]
        if self.write in {None, self.read}:
            return [read_alias(self.base)]
        return [read_alias(self.base), write_alias(self.base)]

    @property
    def older(self) -> list[str]:
        """Return the indices in use that have the mapping of an older release."""
        used = {self.read, self.write} - {None}
        return sorted(one for one in used if one and _version(one) < MAPPING_VERSION)


def look(client: OpenSearch, base: str) -> Indices:
    """Return the indices of this name and their aliases, with one request."""
    with translate_engine_errors():
        found = client.indices.get(index=f"{base}-v*", ignore=[_NOT_FOUND])
    there = {
        name: one
        for name, one in found.items()
        if isinstance(one, dict) and "aliases" in one
    }
    named = {name: one["aliases"] for name, one in there.items()}

    def behind(alias: str) -> str | None:
        return next((name for name in sorted(named) if alias in named[name]), None)

    bare = tuple(sorted(name for name, aliases in named.items() if not aliases))
    ours = make_index_body()["mappings"]["properties"].keys()
    lacking = tuple(
        name
        for name, one in sorted(there.items())
        if named[name] and ours - one["mappings"].get("properties", {}).keys()
    )
    return Indices(
        base, behind(read_alias(base)), behind(write_alias(base)), bare, lacking
    )


def ensure_index(
    client: OpenSearch, base: str, on_new: Callable[[], bool | None] = lambda: None
) -> Indices:
    """Make the index and its aliases if they are missing; many may call at once.

    `on_new` makes everything due that the new index lacks, and says False where it may
    not be searched before it has that. It runs before the aliases open the index for
    writing, so that dying between the two loses nothing.
    """
    found = look(client, base)
    if not (found.read or found.write):
        return _make_first(client, base, on_new)
    for name in found.lacking:
        # Only ever fields beside those that are there. An index of an older version of
        # the mapping is made anew besides.
        with translate_engine_errors():
            client.indices.put_mapping(
                index=name, body=make_index_body()["mappings"], params=_PATIENT
            )
    return found


def _make_first(
    client: OpenSearch, base: str, on_new: Callable[[], bool | None]
) -> Indices:
    name = name_of(base, f"{time.time_ns()}-{secrets.token_hex(3)}")
    with translate_engine_errors():
        client.indices.create(index=name, body=make_index_body(), params=_PATIENT)
    aliased = _opening(base, name, is_whole=on_new() is not False)
    try:
        with translate_engine_errors():
            client.indices.update_aliases(body=aliased, params=_PATIENT)
    except OpenSearchError:
        delete(client, name)
        # Somebody else was first: an alias has one index to write to.
        found = look(client, base)
        if found.write is None:
            raise
        return found
    return look(client, base)


def name_of(base: str, unique: str) -> str:
    """Return the name of an index that is made once for one purpose."""
    return f"{base}-v{MAPPING_VERSION}-{unique}"


def is_left_over(base: str, name: str) -> bool:
    """Tell a bare index that nobody uses from one that is being made for first use."""
    if is_of_rebuild(base, name):
        # Whoever asks has seen that none is under way.
        return True
    made_at = _unique(base, name).partition("-")[0]
    return made_at.isdigit() and time.time_ns() - int(made_at) > _FIRST_USE_NS


def is_of_rebuild(base: str, name: str) -> bool:
    """Tell an index that a rebuild fills from one made because there was none."""
    unique = _unique(base, name)
    return len(unique) == len(UUID(int=0).hex) and "-" not in unique


def make(client: OpenSearch, name: str) -> None:
    """Make an index to be filled, unless it is there already."""
    try:
        with translate_engine_errors():
            client.indices.create(
                index=name, body=make_index_body(FILLING), params=_PATIENT
            )
    except OpenSearchError as exc:
        if _EXISTS not in (exc.technical or ""):
            raise


def go_live(client: OpenSearch, name: str) -> None:
    """Give an index that is filled the settings of one in use."""
    with translate_engine_errors():
        settings: Mapping[str, Any] = {"index": dict(LIVE)}
        client.indices.put_settings(index=name, body=settings, params=_PATIENT)
        client.indices.flush(index=name, params=_PATIENT)


def write_to(client: OpenSearch, found: Indices, name: str) -> None:
    """Move the write alias from the old index to this one in one step."""
    added = {"index": name, "alias": write_alias(found.base), "is_write_index": True}
    _move(client, found.write, added)


def search_in(client: OpenSearch, found: Indices, name: str) -> None:
    """Move the read alias; no search finds it missing."""
    _move(client, found.read, {"index": name, "alias": read_alias(found.base)})


def delete(client: OpenSearch, name: str) -> None:
    """Delete an index that is behind no alias; one that is gone is no error."""
    with translate_engine_errors():
        client.indices.delete(index=name, params=_PATIENT, ignore=[_NOT_FOUND])


def _move(client: OpenSearch, old: str | None, added: dict[str, Any]) -> None:
    if old == added["index"]:
        return
    gone = {"index": old, "alias": added["alias"]}
    actions = [{"remove": gone}, {"add": added}] if old else [{"add": added}]
    with translate_engine_errors():
        client.indices.update_aliases(body={"actions": actions}, params=_PATIENT)


def _opening(base: str, name: str, *, is_whole: bool) -> dict[str, Any]:
    added = {"index": name, "alias": write_alias(base), "is_write_index": True}
    searched = [{"add": {"index": name, "alias": read_alias(base)}}] if is_whole else []
    return {"actions": [*searched, {"add": added}]}


def _unique(base: str, name: str) -> str:
    return name.removeprefix(f"{base}-v").partition("-")[2]


def _version(name: str) -> int:
    found = _VERSION.findall(name)
    return int(found[-1]) if found else 0
