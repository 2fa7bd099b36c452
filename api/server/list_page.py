"""Lists in pages: what a cursor is bound to, where a page begins and where it ends."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID

from api.context import ApiContext
from shared.access.cursors import Binding
from shared.access.scope import Scope
from shared.errors import InvalidRequestError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ListPage:
    """A page of one list, for one caller and one question; `limit` items at most."""

    ctx: ApiContext
    scope: Scope
    route: str
    query: str
    limit: int

    @property
    def binding(self) -> Binding:
        """Return the request that cursors are bound to."""
        return Binding(self.route, self.query, self.scope.caller, self.limit)

    def open(self, cursor: str | None) -> list[Any] | None:
        """Return the place behind which the page begins; None: at the start."""
        return None if cursor is None else self.ctx.signer().open(cursor, self.binding)

    def open_id(self, cursor: str | None) -> UUID | None:
        """Return the id behind which the page begins; None: at the start."""
        place = self.open(cursor)
        return None if place is None else UUID(place[0])

    def close(
        self,
        found: Sequence[T],
        place: Callable[[Any], list[Any]] = lambda last: [str(last.id)],
    ) -> tuple[Sequence[T], str | None]:
        """Return the page of what was found, and the cursor of the rest, if any."""
        page = found[: self.limit]
        if len(found) == len(page):
            return page, None
        return page, self.ctx.signer().make(place(page[-1]), self.binding)


def check_page_size(ctx: ApiContext, limit: int | None) -> int:
    """Return how many items a page has, the usual number where none is given."""
    limit = ctx.settings.default_limit if limit is None else limit
    if limit > ctx.settings.max_page_size:
        message = f"limit: a page may hold {ctx.settings.max_page_size}."
        raise InvalidRequestError.field("limit", "less_than_equal", message)
    return limit
