"""A record looked up in the map of its source, for whoever checks the map."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from shared.adapter_contract.contract import RawItem


@dataclass(frozen=True, slots=True)
class MappedRecord:
    """What a record has of the places that the settings name."""

    # The names of its columns or keys.
    names: tuple[str, ...]
    # Each setting that names a place which the record has not, and that place.
    absent: frozenset[tuple[str, str]]
    # Its times as written, where no setting says whether day or month comes first.
    times: tuple[str, ...]


@runtime_checkable
class ReadsByMap(Protocol):
    """An adapter that reads records as its user's map says."""

    def look_up(self, raw: RawItem) -> MappedRecord:
        """Return the names of an item, and the places that it lacks."""
