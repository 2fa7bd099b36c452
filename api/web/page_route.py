"""The route class of the page: errors are pages, and who is unknown may log in."""

import hmac
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Depends, FastAPI, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from starlette.datastructures import FormData, Headers
from starlette.exceptions import HTTPException
from starlette.routing import Match
from starlette.types import Receive, Send
from starlette.types import Scope as RawScope

from api.access import page_sessions
from api.context import ApiContext
from api.server import errors
from api.strict_route import Handler, StrictRoute
from api.web import rendering
from shared.errors import AccessError, InvalidRequestError, LogchordError
from shared.text import door

_FORM = "application/x-www-form-urlencoded"
_CSRF = "csrf"
# What a form has beside what its reader typed or chose.
_UNTYPED = frozenset({_CSRF, "action"})
# A longer one does not fit into the address of the log-in, whose form stands for it.
_MOST_PLACE = 8000


class PageRoute(StrictRoute):
    """Where people look: GET alone, and forms that prove where they come from."""

    # A form brings the cookie of a session along; see `page_sessions`.
    takes_session_writes = True

    def get_route_handler(self) -> Handler:
        """Return the handler whose errors are pages."""
        handle = super().get_route_handler()

        async def shown(request: Request) -> Response:
            if not rendering.is_twin(request):
                _show_pages(request)
            try:
                return await handle(request)
            except AccessError as exc:
                if exc.status == HTTPStatus.UNAUTHORIZED and request.method == "POST":
                    request.state.typed = await _read_typed(request)
                raise

        return shown


def page_router(
    *needed: Callable[..., Any], route_class: type[PageRoute] = PageRoute
) -> APIRouter:
    """Return the router of pages, which the interface's documentation leaves out."""
    return APIRouter(
        include_in_schema=False,
        route_class=route_class,
        dependencies=[Depends(each) for each in needed],
    )


class PageBesideData(PageRoute):
    """A page at an address that programs read as JSON: only browsers are shown it."""

    def matches(self, scope: RawScope) -> tuple[Match, RawScope]:
        """Tell whether this is the address, asked for by a browser."""
        if "text/html" not in Headers(scope=scope).get("accept", ""):
            return Match.NONE, {}
        return super().matches(scope)


def show_missing(app: FastAPI) -> None:
    """Show a page of where nothing is to browsers, too: no route is there to do it."""
    refuse = app.router.default
    data = f"{app.state.settings.base_path}/v1/"

    async def shown(scope: RawScope, receive: Receive, send: Send) -> None:
        is_page = scope["type"] == "http" and not scope["path"].startswith(data)
        if is_page and "text/html" in Headers(scope=scope).get("accept", ""):
            _show_pages(Request(scope))
        await refuse(scope, receive, send)

    app.router.default = shown


async def read_form(request: Request) -> FormData:
    """Return a form that was sent from a page of ours, or refuse it."""
    context: ApiContext = request.app.state.context
    origin = request.headers.get("origin", "")
    host = request.headers.get("host", "")
    if origin.partition("://")[2] != host:
        message = f"A page of {origin[:100] or 'nobody'!r} may send no form here."
        raise AccessError(message, code="origin_refused")
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != _FORM:
        message = f"A form must be {_FORM}."
        raise InvalidRequestError(message, code="unsupported_media_type")
    try:
        form = await request.form(max_files=0, max_fields=20)
    except errors.CarriedError:
        raise
    except HTTPException as exc:
        message = f"The form cannot be read: {exc.detail}"
        raise InvalidRequestError.field("form", "form_invalid", message) from exc
    for name, value in form.multi_items():
        door.admit(str(value), name)
    given = str(form.get(_CSRF, ""))
    wanted = page_sessions.csrf_token(context.secret(), request)
    if not hmac.compare_digest(given.encode(), wanted.encode()):
        message = "This form is not one that was shown to you here; load the page anew."
        raise AccessError(message, code="origin_refused")
    return form


def place_of_ours(place: str) -> str:
    """Return a place below the base path, or the first page for any other."""
    is_ours = place.startswith("/") and not place.startswith(("//", "/\\"))
    return place if is_ours and place.isprintable() else "/"


async def _read_typed(request: Request) -> list[tuple[str, str]]:
    """Return the fields of a form that is answered with the log-in."""
    form = await request.form(max_files=0, max_fields=20)
    said = ((name, str(value)) for name, value in form.multi_items())
    return [(name, value) for name, value in said if name not in _UNTYPED]


def _show_pages(request: Request) -> None:
    """Let the errors of a request be pages."""
    errors.show_errors_by(request.state, lambda *told: _error_page(request, *told))


def _error_page(
    request: Request,
    error: LogchordError,
    body: Mapping[str, Any],
    headers: Mapping[str, str],
) -> Response:
    if error.status == HTTPStatus.UNAUTHORIZED and _is_led_from_elsewhere(request):
        # A browser keeps the session's cookie from where it was led by others.
        text = rendering.render(request, "come_again.html")
        return HTMLResponse(text, error.status, {**headers, **rendering.HEADERS})
    if error.status == HTTPStatus.UNAUTHORIZED:
        base = request.app.state.settings.base_path
        place = rendering.place_of(request)
        if typed := urlencode(getattr(request.state, "typed", [])):
            place += f"{'&' if '?' in place else '?'}{typed}"
        if len(quote(place)) > _MOST_PLACE:
            text = rendering.render(
                request, "login.html", back=place, who=None, problem=""
            )
            return HTMLResponse(text, error.status, {**headers, **rendering.HEADERS})
        answer = RedirectResponse(rendering.Links(base)("/login", next=place), 303)
        if page_sessions.session_of(request):
            # It is over, and forgotten before the form: that is signed for its cookie.
            answer.delete_cookie(page_sessions.COOKIE, path=base or "/")
        return answer
    text = rendering.render(
        request, "error.html", body=body, status=error.status, kind=_kind(error)
    )
    return HTMLResponse(text, error.status, {**headers, **rendering.HEADERS})


def _is_led_from_elsewhere(request: Request) -> bool:
    """Tell whether a link of another site led a browser here, without our cookies."""
    led = (request.headers.get(f"sec-fetch-{name}") for name in ("site", "mode"))
    is_link = request.method == "GET" and tuple(led) == ("cross-site", "navigate")
    return is_link and page_sessions.session_of(request) is None


def _kind(error: LogchordError) -> str:
    """Return which of the pages an error is: each says something else to do."""
    if error.status == HTTPStatus.FORBIDDEN:
        return "not_allowed"
    if error.status in {HTTPStatus.NOT_FOUND, HTTPStatus.GONE}:
        return "not_here"
    if error.status == HTTPStatus.TOO_MANY_REQUESTS:
        return "busy"
    if error.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return "down"
    return "refused"
