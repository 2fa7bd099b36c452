"""How large an entry may be, and whether a higher limit would bring anything.

Only a source of which something was refused for its size is read anew: of the others
all is here. A lower limit has nothing read, for what was admitted stays.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from shared.adapter_contract.contract import Memory
from shared.errors import MalformedEntryError

TOO_LARGE = "too_large"
# Neighbours in the order of keys, which are read at one look.
_RAISED, _REFUSED = "limit:raised", "limit:refused"


@dataclass(frozen=True, slots=True)
class Limit:
    """The size limit of a run, and how often it rose above what had been refused."""

    most: int
    raised: int = 0

    @classmethod
    def of(cls, memory: Memory, most: int) -> Self:
        """Return the limit of a run; its rise is stored with the run's next page."""
        known = memory.get(_RAISED)
        raised = known if type(known) is int else 0
        match memory.get(_REFUSED):
            case {"raised": int(then), "at": int(at)} if then == raised and at < most:
                raised += 1
                memory.put(_RAISED, raised)
        return cls(most, raised)

    def note(self, memory: Memory, errors: Iterable[MalformedEntryError]) -> None:
        """Note with this page that an entry was too large for this limit."""
        if any(one.reason == TOO_LARGE for one in errors):
            memory.put(_RAISED, self.raised)
            memory.put(_REFUSED, {"raised": self.raised, "at": self.most})
