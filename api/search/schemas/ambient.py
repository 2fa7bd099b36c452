"""What surrounds a question, as a page tells it."""

from typing import Annotated, Any

from pydantic import ConfigDict, Field
from pydantic.alias_generators import to_camel

from api.server.body_model import Body
from api.server.field_types import Moment

Name = Annotated[str, Field(max_length=200)]
Address = Annotated[str, Field(max_length=2000)]


class _AmbientFields(Body):
    # Pages write `queryHint`.
    model_config = ConfigDict(
        extra="forbid", alias_generator=to_camel, validate_by_name=True
    )


class LastAction(_AmbientFields):
    """What was done on the page before; after 15 minutes it says nothing."""

    action: Name | None = Field(None, description="Kept, and bears on nothing.")
    source: Name | None = Field(None, description="Kept, and bears on nothing.")
    query_hint: Annotated[str, Field(max_length=1000)] | None = None
    """Text; what it names counts."""
    domain: Name | None = Field(None, description="A kind of entries.")
    entity_key: Name | None = None
    """A name, or `device:NAME`, `system:NAME`."""
    route: Address | None = Field(None, description="As `route` beside it.")
    occurred_at: Moment | None = Field(None, description="None: just now.")


class Ambient(_AmbientFields):
    """Where it is asked: a bias, never a filter."""

    route: Address | None = None
    """The page's address: what its parts and parameters name, and the kinds, sources
    and logbooks in it."""
    last_action: LastAction | None = None


def dump_ambient(ambient: Ambient | None) -> dict[str, Any]:
    """Return the fields that the page has set."""
    if ambient is None:
        return {}
    return ambient.model_dump(mode="json", by_alias=False, exclude_none=True)
