"""A visit of the page: what one browser does here, as telemetry tells it apart."""

import re
import secrets
from urllib.parse import urlsplit

from fastapi import Request, Response

from api.context import ApiContext

# It says nothing of anybody, and is kept as a hash with the facility in it.
COOKIE = "visit"
_VALUE = re.compile(r"[A-Za-z0-9_-]{16}")
# The parameter of a link that leads out of an answer that was not enough, and which
# of them was taken; it is no part of a search, and no address of a page repeats it.
VIA = "via"
RESCUES = frozenset({"meant", "sooner", "without"})


def find_visit(request: Request) -> str | None:
    """Return the visit that a browser is on, as its cookie says."""
    value = request.cookies.get(COOKIE, "")
    return value if _VALUE.fullmatch(value) else None


def begin_visit(request: Request, ctx: ApiContext) -> str | None:
    """Return the visit that a browser is on, or a new one; None: none are noted."""
    if not ctx.telemetry.is_on:
        return None
    return find_visit(request) or secrets.token_urlsafe(12)


def keep_visit(answer: Response, visit: str | None, ctx: ApiContext) -> None:
    """Have the browser say in what follows that it belongs to the visit."""
    if visit is not None:
        path = ctx.settings.base_path or "/"
        # Without an age it ends with the browser.
        answer.set_cookie(COOKIE, visit, path=path, samesite="lax", httponly=True)


def end_visit(answer: Response, ctx: ApiContext) -> None:
    """Have the browser begin another visit: at a console somebody else comes next."""
    answer.delete_cookie(COOKIE, path=ctx.settings.base_path or "/")


def find_rescue(request: Request) -> str | None:
    """Return which way out of the answer before led to a search."""
    taken = request.query_params.get(VIA, "")
    return taken if taken in RESCUES else None


def comes_from_search(request: Request, ctx: ApiContext) -> bool:
    """Tell whether a link of a page of results led here."""
    came = urlsplit(request.headers.get("referer", ""))
    is_ours = came.netloc == request.headers.get("host")
    return is_ours and came.path == f"{ctx.settings.base_path}/search"
