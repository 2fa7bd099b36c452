"""What a stage is: a frozen descriptor, and for most a function beside it.

A stage that has a function finds things in one entry, and nothing else: what it found
is kept, shown, and made anew when what it reads has changed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict

from shared import entry_fields
from shared.errors import ConfigurationError

if TYPE_CHECKING:
    from shared.settings.settings import Settings
    from shared.text.facility.facility import Facility

# What a stage can ask for of an entry. `text` is as it is read, without the marks that
# it may have come with; `original` is as it came, and what places are counted in.
FIELDS = frozenset(
    {
        *("title", "text", "original", "authors", "tags", "logbooks", "kind", "origin"),
        *(*entry_fields.NAMES, "metadata", "language", "source"),
        *("external_id", "entry_time", "event_time"),
    }
)
# Not of the entry: the facility's own file.
FACILITY = "facility"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
_MAX_VERSION = 2**15 - 1


class NoOptions(BaseModel):
    """The settings of a stage that has none."""

    model_config = ConfigDict(frozen=True, extra="forbid")


@dataclass(frozen=True, slots=True)
class StageInput(Mapping[str, Any]):
    """The input of a stage: the fields that it declared, and no others."""

    fields: Mapping[str, Any]
    options: BaseModel
    facility: Facility

    def __getitem__(self, name: str) -> Any:
        """Return a field; one that the descriptor does not name is a KeyError."""
        return self.fields[name]

    def __iter__(self) -> Iterator[str]:
        """Yield the names of the fields."""
        return iter(self.fields)

    def __len__(self) -> int:
        """Return how many fields there are."""
        return len(self.fields)


@dataclass(frozen=True, slots=True)
class StageDescriptor:
    """The description of a stage for the rest of the system."""

    name: str
    # Raised with every change of what it finds: all entries are then looked at anew.
    version: int
    description: str
    # Where it stands among the others; what is due at once is sent in this order.
    order: int = 30
    # The stages whose end makes it due; none: a new revision does.
    after: tuple[str, ...] = ()
    # What it depends on: an edit of anything else leaves it alone.
    reads: tuple[str, ...] = ()
    options: type[BaseModel] = NoOptions
    # What it finds, and how it is written down; none: a task of its own does the work.
    finds: type[BaseModel] | None = None
    find: Callable[[StageInput], Iterable[BaseModel]] | None = None
    # Fields of what it finds, texts or lists of them, that are searched with the entry.
    searched: tuple[str, ...] = ()
    # In words, for readers.
    writes: str = "its findings"
    # Whether it runs where nothing is set.
    is_on: bool = True
    # Whether an entry can be searched without it.
    is_optional: bool = True
    # An entry that is gone passes it once more.
    on_deletion: bool = False
    # Due for those entries alone that need it.
    on_demand: bool = False
    # What its due work is called, where that hangs on settings.
    row_name: Callable[[Settings], str] | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be a stage, saying why."""
        wrong = next(self._flaws(), None)
        if wrong:
            message = f"The stage {self.name!r} cannot be used: {wrong}."
            raise ConfigurationError(message, config_key=f"stages.{self.name}")

    def _flaws(self) -> Iterator[str]:
        if not _NAME.fullmatch(self.name):
            yield "a name is of small letters, digits and underscores"
        if not 1 <= self.version <= _MAX_VERSION:
            yield f"a version is a number from 1 to {_MAX_VERSION}"
        unknown = set(self.reads) - FIELDS - {FACILITY}
        if unknown:
            yield f"it reads {', '.join(sorted(unknown))}, which no entry has"
        if (self.find is None) != (self.finds is None):
            yield "a function that finds needs the model of what it finds"
        if self.find is not None and not self.is_optional:
            yield "what finds is optional: an entry is searched without it"
        if self.find is not None and not self.reads:
            yield "what finds must say what it reads"
        named = self.finds.model_fields if self.finds is not None else {}
        if set(self.searched) - set(named):
            yield "what is searched must be a field of what it finds"
        if self.after and self.name in self.after:
            yield "it cannot come after itself"

    def row_of(self, settings: Settings) -> str:
        """Return the name of the stage's rows of due work."""
        return self.name if self.row_name is None else self.row_name(settings)
