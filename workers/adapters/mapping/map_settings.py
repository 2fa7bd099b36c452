"""The settings of a map from foreign records to entries, and how its times read."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import AfterValidator, Field

from shared import entry_fields
from shared.adapter_contract.contract import AdapterArgs, Source
from shared.adapter_contract.entry import TextFormat
from shared.times import source_times
from workers.adapters.mapping.pointer import Pointer

TIMES = frozenset(("entry_time", "event_time", "modified_at", "visible_from"))
LISTS = frozenset(("authors", "logbooks", "tags", "readers", "related", "attachments"))
# A field of several parts needs all of them, else it has no value.
WHOLE = frozenset((*TIMES, "external_id", "reply_to", "supersedes", "deleted"))
METADATA = "metadata."
_TEXTS = frozenset(
    (
        *("title", "text", "text_format", "version", "editor", *entry_fields.NAMES),
        *("language", "kind", "origin", "thread_key", "url"),
    )
)
_FIELDS = frozenset((*_TEXTS, *LISTS, *WHOLE, "metadata"))
_ALIASES = {
    "author": "authors",
    "body_format": "text_format",
    "books": "logbooks",
    "id": "external_id",
    "linked_to": "reply_to",
    "logbook": "logbooks",
    "timestamp": "entry_time",
}

Selector = str | tuple[str, ...]


def canonical(field: str) -> str:
    """Return our name of a mapped field, or refuse an unknown one."""
    name = _ALIASES.get(field, field)
    if name not in _FIELDS and not name.startswith(METADATA):
        message = f"{field!r} is no field of an entry; there are {sorted(_FIELDS)}"
        raise ValueError(message)
    return name


def by_field(fields: Mapping[str, Selector]) -> dict[str, Selector]:
    """Return a map under our names."""
    return {canonical(name): at for name, at in fields.items()}


def _known_fields(fields: dict[str, Selector]) -> dict[str, Selector]:
    for field, selector in fields.items():
        canonical(field)
        for text in each(selector):
            Pointer(text)
    return fields


def _known_names(given: dict[str, Selector]) -> dict[str, Selector]:
    for field in given:
        if canonical(field) in {*WHOLE, "attachments", "metadata"}:
            raise ValueError(f"{field!r} cannot be the same in every entry")
    return given


FieldSelectors = Annotated[dict[str, Selector], AfterValidator(_known_fields)]


class MapArgs(AdapterArgs):
    """The settings that every reader of mapped records shares."""

    map: FieldSelectors = Field({})
    """Where each field of an entry stands: a column, a key or a JSON pointer; several
    are joined by a space, times only when all are there."""
    defaults: Annotated[dict[str, Selector], AfterValidator(_known_names)] = Field({})
    """Values of fields for which a record has none."""
    ignore: tuple[str, ...] = ()
    """Columns or keys that are left out of the metadata."""
    unit: Literal["s", "ms"] | None = None
    """Unit of numeric times; none: seconds below 1e11, else ms."""
    time_format: Selector | None = None
    """How times are written, in the codes of strptime."""
    day_first: bool = False
    """Whether 03/04/2001 is the third of April."""
    separator: str = ","
    """What stands between several tags, logbooks or files in one text."""
    text_format: TextFormat = Field("plain", description="How texts are marked up.")

    def names_by(self) -> tuple[str, ...]:
        """Return where the id of a record stands; nowhere: by its content."""
        return each(by_field(self.map).get("external_id", self.own_id()))

    def places(self) -> Iterator[tuple[str, str]]:
        """Yield each setting that names a place in a record, and that place."""
        for field, selector in self.map.items():
            for place in each(selector):
                yield f"map.{field}", place

    def own_id(self) -> Selector:
        """Return where it stands if the map says nothing."""
        return ()

    @property
    def says_order(self) -> bool:
        """Tell whether the settings say if the day or the month comes first."""
        return bool(self.time_format) or "day_first" in self.model_fields_set

    def name_of(self, mapped: str) -> str:
        """Return our name of a field of the map, which may be an alias of it."""
        return canonical(mapped)


class Times(NamedTuple):
    """How the times of a source are read."""

    zone: str | None = None
    fold: int = 0
    unit: Literal["s", "ms"] | None = None
    formats: tuple[str, ...] = ()
    day_first: bool = False

    @classmethod
    def of(cls, source: Source, args: MapArgs) -> Self:
        """Return how a source's settings have them read."""
        return cls(
            zone=source.timezone,
            fold=source.tz_fold,
            unit=args.unit,
            formats=each(args.time_format or ()),
            day_first=args.day_first,
        )

    def read(self, value: Any) -> source_times.Moment | None:
        """Return the moment; None where there is none."""
        if isinstance(value, str) and (not value or value.isspace()):
            return None
        return source_times.parse_source_time(
            value,
            zone=self.zone,
            fold=self.fold,
            unit=self.unit,
            formats=self.formats,
            day_first=self.day_first,
        )


def each(selector: Selector) -> tuple[str, ...]:
    """Return the places or names that a setting gives, one or several."""
    return (selector,) if isinstance(selector, str) else selector
