"""How the next page of a list is asked for, and how its end is known."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urljoin
from zoneinfo import ZoneInfo

from shared.adapter_contract.contract import Reply
from workers.adapters.mapping.pointer import Pointer
from workers.adapters.rest.settings import RestArgs

# Where a list is continued: a number of rows or of a page, a token, or an address.
Position = int | str | None

_MOST_TOKEN_CHARS = 3_000
# Possessive, so that a hostile header costs one pass.
_LINK = re.compile(r"""<([^<>]*+)>((?:\s*+;\s*+[\w*-]++=(?:"[^"]*+"|[^\s;,"]*+))*)""")
_OF_LINK = re.compile(r""";\s*+([\w*-]++)=(?:"([^"]*+)"|([^\s;,"]*+))""")


@dataclass(frozen=True, slots=True)
class PageRequest:
    """One request of a list."""

    url: str
    params: Mapping[str, str] = field(default_factory=dict)

    @property
    def question(self) -> list[Any]:
        """Return the parts of the request that tell it from others, as JSON."""
        return [self.url, sorted(self.params.items())]


@dataclass(frozen=True, slots=True)
class Turn:
    """The position after a page, or why the list ended early."""

    position: Position = None
    problem: str | None = None

    @property
    def is_end(self) -> bool:
        """Tell whether there is no further page."""
        return self.position is None


class Pager:
    """Goes through one list; a short page alone is no end, a cap makes it, too."""

    def __init__(self, args: RestArgs, url: str, page_size: int) -> None:
        self._args = args
        self._url = url
        self._page_size = page_size
        self._fullest = 0
        self._before: frozenset[str] = frozenset()
        self._came = 0
        # Whether it was gone through from its beginning.
        self._is_whole = False

    def ask(self, position: Position, bounds: Mapping[str, str]) -> PageRequest:
        """Return the request of a page."""
        names, args = self._args.params, self._args
        self._is_whole = self._is_whole or (position is None and not self._came)
        has_address = args.paging == "link_header" or not names.cursor
        if isinstance(position, str) and has_address:
            # The next page's address repeats the bounds by itself.
            return PageRequest(position)
        params = {**names.fixed, **bounds}
        if names.limit:
            params[names.limit] = str(self._page_size)
        if args.paging == "offset" and names.offset:
            params[names.offset] = str(position or 0)
        elif args.paging == "page" and names.page:
            number = args.first_page if position is None else position
            params[names.page] = str(number)
        elif isinstance(position, str) and names.cursor:
            params[names.cursor] = position
        return PageRequest(self._url, params)

    def after(
        self,
        position: Position,
        reply: Reply,
        document: Any,
        ids: Sequence[str],
        total: int | None,
    ) -> Turn:
        """Return the position of the next page, given this one."""
        self._came += len(ids)
        here = frozenset(ids)
        is_stuck = bool(here) and here <= self._before
        self._before = here
        turn = self._next(position, reply, document, ids, total)
        self._fullest = max(self._fullest, len(ids))
        if turn.is_end:
            if total is not None and self._came < total and self._is_whole:
                problem = f"the source counts {total} entries and sent {self._came}"
                return Turn(None, problem)
            return turn
        if is_stuck or turn.position == position:
            return Turn(None, "the source sends the same page again and again")
        return turn

    def _next(
        self,
        position: Position,
        reply: Reply,
        document: Any,
        ids: Sequence[str],
        total: int | None,
    ) -> Turn:
        match self._args.paging:
            case "none":
                return Turn()
            case "link_header":
                return Turn(_next_link(reply))
            case "cursor":
                return Turn(self._token(reply, document))
            case "anchor":
                return Turn(ids[-1] if ids else None)
            case _:
                return Turn(self._count(position, len(ids), total))

    def _count(self, position: Position, came: int, total: int | None) -> Position:
        """Return the next number of rows or page; a page that is full goes on."""
        if not came or came < self._fullest:
            return None
        first = self._args.first_page if self._args.paging == "page" else 0
        number = position if isinstance(position, int) else first
        if self._args.paging == "page":
            return None if total is not None and self._came >= total else number + 1
        reached = number + came
        return None if total is not None and reached >= total else reached

    def _token(self, reply: Reply, document: Any) -> str | None:
        found = Pointer(self._args.next_pointer or "").first(document)
        if found is None or isinstance(found, bool | dict | list) or found == "":
            return None
        token = str(found)
        if self._args.params.cursor:
            return token
        address: str = urljoin(reply.url, token)
        return address


def sent(args: RestArgs, zone: str | None, moment: datetime) -> str:
    """Return a bound of times as the source wants to be asked, in whole seconds."""
    form = args.sent_time_format
    seconds = int(moment.timestamp())
    match form:
        case "iso":
            return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        case "s":
            return str(seconds)
        case "ms":
            return str(seconds * 1000)
    return moment.astimezone(ZoneInfo(zone) if zone else UTC).strftime(form)


def kept(position: Position) -> Position:
    """Return a position that fits into a cursor; None begins again."""
    is_long = isinstance(position, str) and len(position) > _MOST_TOKEN_CHARS
    return None if is_long else position


def _next_link(reply: Reply) -> str | None:
    header = reply.headers.get("link", "")[:10_000]
    for found in _LINK.finditer(header):
        said = {
            name.lower(): quoted or bare
            for name, quoted, bare in _OF_LINK.findall(found[2])
        }
        if "next" in said.get("rel", "").lower().split():
            address: str = urljoin(reply.url, found[1])
            return address
    return None
