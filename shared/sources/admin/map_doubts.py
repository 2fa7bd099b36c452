"""What of a map is in doubt: places that no record has, dates that read in two ways."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from shared import suggest
from shared.adapter_contract.contract import Adapter, RawItem
from shared.adapter_contract.mapped_record import MappedRecord, ReadsByMap
from shared.errors import MalformedEntryError
from shared.times import date_orders
from shared.times.date_orders import UnsureOrder


@dataclass(frozen=True, slots=True)
class AbsentPlace:
    """A place that a setting names, and no record has."""

    setting: str
    place: str
    # How many records were looked at.
    records: int
    # A sentence that offers the nearest name, or nothing.
    hint: str

    def describe(self) -> str:
        """Return where which setting looks in vain, and what may be meant."""
        which = (
            "The only record has no"
            if self.records == 1
            else f"None of the first {self.records} records has"
        )
        return f"{which} {self.place!r}, where `args.{self.setting}` looks.{self.hint}"


@dataclass(frozen=True, slots=True)
class MapDoubts:
    """What of a map is in doubt, by the records that were read."""

    absent: tuple[AbsentPlace, ...] = ()
    order: UnsureOrder | None = None

    @property
    def problems(self) -> tuple[str, ...]:
        """Return a sentence for each doubt."""
        told = [one.describe() for one in self.absent]
        return (*told, *((self.order.describe(),) if self.order else ()))


NO_DOUBTS = MapDoubts()


def find_map_doubts(adapter: Adapter, items: Iterable[RawItem]) -> MapDoubts:
    """Look up every item of a page in the map of its source, if it has one."""
    if not isinstance(adapter, ReadsByMap):
        return NO_DOUBTS
    records = list(_looked_up(adapter, items))
    if not records:
        return NO_DOUBTS
    names = {name for one in records for name in one.names}
    absent = frozenset.intersection(*(one.absent for one in records))
    return MapDoubts(
        tuple(
            AbsentPlace(setting, place, len(records), suggest.hint(place, names))
            for setting, place in sorted(absent)
        ),
        date_orders.find_unsure_order(text for one in records for text in one.times),
    )


def _looked_up(adapter: ReadsByMap, items: Iterable[RawItem]) -> Iterator[MappedRecord]:
    for item in items:
        try:
            yield adapter.look_up(item)
        except MalformedEntryError:
            # It is told with the others that cannot be read.
            continue
