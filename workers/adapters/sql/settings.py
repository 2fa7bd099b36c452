"""The settings of a logbook that is reachable as tables or as a view."""

from typing import Literal, Self

from pydantic import Field, model_validator

from workers.adapters.mapping.map_settings import MapArgs
from workers.adapters.sql.statement import Statement


class SQLArgs(MapArgs):
    """The settings of a SQL source."""

    dsn: str = Field()
    """Name of the secret that holds the address of the database, such as
    postgresql://reader:...@host/db, mysql://, oracle:// or sqlite:///path."""
    query: str = Field()
    """Rows from :since on (and before :until), oldest first."""
    since_column: str = Field(description="The column that :since is compared with.")
    since_bound: Literal["inclusive", "exclusive"] = "inclusive"
    """Whether the query answers :since itself."""
    since_is: Literal["modified", "created"] = "created"
    """Whether an edit moves the column."""
    ids_query: str | None = None
    """Every id there is, and the stamp of each if it has one."""
    row_query: str | None = Field(None, description="The row of one :id.")
    rows_per_fetch: int = Field(500, ge=1, le=10_000)
    """Rows that travel at once."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if "since" not in Statement(self.query).parameters:
            raise ValueError("query needs :since")
        if self.ids_query is not None and Statement(self.ids_query).parameters:
            raise ValueError("ids_query lists everything; it has no parameters")
        row_query = Statement(self.row_query) if self.row_query is not None else None
        if row_query is not None and row_query.parameters != {"id"}:
            raise ValueError("row_query needs :id and no other parameter")
        return self
