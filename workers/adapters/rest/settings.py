"""The settings of a REST source: how it is asked, paged, and what its answers mean."""

from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from workers.adapters.mapping.map_settings import MapArgs
from workers.adapters.mapping.pointer import Pointer

Order = Literal[
    "modified_asc", "created_asc", "id_asc", "created_desc", "modified_desc", "none"
]
Paging = Literal["none", "offset", "page", "cursor", "link_header", "anchor"]


def _pointer(text: str) -> str:
    Pointer(text)
    return text


PointerText = Annotated[str, AfterValidator(_pointer)]


class RestParams(BaseModel):
    """The source's own names of the parameters that we send."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", use_attribute_docstrings=True
    )

    since: str | None = Field(None, description="Name of the lower bound of times.")
    until: str | None = Field(None, description="Name of the upper bound of times.")
    limit: str | None = Field(None, description="Name of the size of a page.")
    offset: str | None = Field(None, description="Name of the number of rows to skip.")
    page: str | None = Field(None, description="Name of the number of a page.")
    cursor: str | None = None
    """Name of the token of the next page, or of the last id."""
    fixed: dict[str, str] = Field({}, description="Parameters sent as they are.")


class RestArgs(MapArgs):
    """The settings of a REST source."""

    list_path: str = Field("", description="Path of the list, below `base_url`.")
    item_path: str | None = None
    """Path of one entry, with {id} where its id stands."""
    method: Literal["GET", "POST"] = "GET"
    """How the list is asked for; by POST parameters are JSON."""
    params: RestParams = Field(RestParams())
    """What the source calls its parameters."""
    first_page: Literal[0, 1] = Field(1, description="Number of the first page.")
    paging: Paging = Field("none", description="How the next page is asked for.")
    next_pointer: PointerText | None = None
    """Where the token or the address of the next page stands."""
    items_pointer: PointerText = ""
    """Where the list stands; empty: the answer is the list."""
    item_pointer: PointerText = ""
    """Where the entry stands in the answer of `item_path`."""
    total_pointer: PointerText | None = None
    """Where the source says how many there are."""
    since_bound: Literal["inclusive", "exclusive"] = "inclusive"
    """Whether the lower bound itself is answered."""
    sent_time_format: str = "iso"
    """How bounds are sent: iso, s or ms since 1970, or codes of strftime, which are
    wall times of the source's zone."""
    order: Order = Field("none", description="In which order the list comes.")
    modified_field: PointerText | None = None
    """Where the time of the last change stands; bounds mean it."""
    deleted_field: PointerText | None = None
    """Where a mark of deletion stands."""
    detail: bool = False
    """Ask for every entry by `item_path`, too."""
    complete_snapshot: bool = False
    """A list without pages holds everything: what is absent is gone."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        for problem in _problems(self):
            raise ValueError(problem)
        return self

    def fields(self) -> dict[str, Any]:
        """Return the fields that are set beside `map`."""
        named = {"modified_at": self.modified_field, "deleted": self.deleted_field}
        return {name: pointer for name, pointer in named.items() if pointer}

    @property
    def deletes(self) -> Literal["flagged", "rescan", "invisible"]:
        """Return how deletions show: by a mark, by absence, or not at all.

        A list that cannot be paged, counted or asked may hold the newest alone.
        """
        if self.deleted_field:
            return "flagged"
        is_whole = self.paging != "none" or self.total_pointer is not None
        is_whole |= self.item_path is not None or self.complete_snapshot
        return "rescan" if is_whole else "invisible"

    @property
    def is_descending(self) -> bool:
        """Tell whether the newest entry comes first."""
        return self.order.endswith("_desc")

    @property
    def is_ascending(self) -> bool:
        """Tell whether times only grow along the list."""
        return self.order in {"modified_asc", "created_asc"}


def _problems(args: RestArgs) -> list[str]:
    """Name what cannot work, in the words of the settings."""
    params, paging = args.params, args.paging
    needs = {
        "offset": ("params.offset", params.offset),
        "page": ("params.page", params.page),
        "cursor": ("next_pointer", args.next_pointer),
        "anchor": ("params.cursor", params.cursor),
    }
    found = []
    if paging in needs and not needs[paging][1]:
        found.append(f"paging: {paging} needs {needs[paging][0]}")
    if paging in {"offset", "page"} and args.is_descending and not params.until:
        found.append(
            f"paging: {paging} of an order of {args.order} skips rows while entries"
            " arrive; give params.until, or an ascending order"
        )
    if params.until and not params.since:
        found.append("params.until needs params.since")
    if args.detail and not args.item_path:
        found.append("detail needs item_path")
    if args.item_path and "{id}" not in args.item_path:
        found.append("item_path needs {id}")
    if args.order.startswith("modified") and not args.modified_field:
        found.append(f"order: {args.order} needs modified_field")
    return found
