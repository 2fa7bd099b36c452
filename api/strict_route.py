"""The route class of every route: foreign text is met at the one door first."""

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Mapping
from typing import Any, TypeVar, get_args, get_origin
from urllib.parse import unquote, unquote_to_bytes

from fastapi import APIRouter, Depends, Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import Scope as RawScope

from api.context import caller, context
from api.context import needs as need_scope
from api.server.errors import CarriedError, documented
from shared import suggest
from shared.access.audit_records import Action
from shared.access.limits import Kind
from shared.errors import InvalidRequestError, LogchordError
from shared.text import door

# What takes longer to parse would hold up every other request meanwhile.
_LARGE_BODY_BYTES = 65_536

_ENCODED_SLASH = re.compile("%2[Ff]")
# Stands for it while addresses are compared; no admitted address holds one.
_NO_SLASH = "\0"

_DESCRIBED, _AUDITED = "described", "audited"

F = TypeVar("F", bound=Callable[..., Any])
Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class DoorRequest(Request):
    """A request whose body is read by our rules, not by the framework's."""

    async def json(self) -> Any:
        """Return the document; NaN, double keys and deep nesting are refused."""
        body = await self.body()
        try:
            if len(body) < _LARGE_BODY_BYTES:
                return self.parse(body)
            return await asyncio.to_thread(self.parse, body)
        except LogchordError as exc:
            # The framework turns any other exception here into a bare 400.
            raise CarriedError(exc) from exc

    @staticmethod
    def parse(body: bytes) -> Any:
        """Return the document, every text of it admitted."""
        value = door.parse_json(body, max_values=door.MAX_JSON_VALUES)
        door.check_tree(value)
        return value


class StrictRoute(APIRoute):
    """Checks address, parameters and media type before the handler sees them."""

    request_class = DoorRequest
    # Against which limit its requests count, as what it needs says.
    counts_as: Kind = "default"
    # The scope that its callers need.
    needed: str | None = None
    # As what the audit keeps its requests.
    action: Action | None = None

    def matches(self, scope: RawScope) -> tuple[Match, RawScope]:
        """Tell whether this is the address; an encoded slash belongs to a name."""
        written = scope.get("raw_path", b"").decode("latin-1")
        whole = _ENCODED_SLASH.sub(_NO_SLASH, written)
        if whole == written or unquote(written) != scope["path"]:
            return super().matches(scope)
        match, found = super().matches({**scope, "path": unquote(whole)})
        for name, value in found.get("path_params", {}).items():
            if isinstance(value, str):
                found["path_params"][name] = value.replace(_NO_SLASH, "/")
        return match, found

    def takes(self, name: str) -> bool:  # noqa: ARG002 - for routes that take more
        """Tell whether the route reads a parameter that its handler does not name."""
        return False

    @property
    def media_types(self) -> tuple[str, ...]:
        """Return the media types that a body may have."""
        return ("application/json",)

    def get_route_handler(self) -> Handler:
        """Return the handler behind the door."""
        handle = super().get_route_handler()
        known = _query_names(self)
        told = known | _documented_names(self)
        single = known - _listed_names(self)
        body = self.body_field
        may_lack_body = body is not None and not body.field_info.is_required()
        is_closed = _asks_who_calls(self)
        self.counts_as = _find_mark(self, "counts_as") or "default"
        self.needed = _find_mark(self, "needed")
        self.action = _find_action(self)

        async def checked(request: Request) -> Response:
            _check_address(request)
            others = (name for name in request.query_params if not self.takes(name))
            _check_names(set(others) - known, told)
            _check_once(request, single)
            if is_closed:
                # Before the body is read: nobody unknown makes us parse megabytes.
                ctx = await context(request)
                who = await caller(request, ctx)
                if self.action is not None:
                    audited = ctx.audit.open(request, who, self.action)
                    request.state.audited = audited
                    may = who.scope.is_admin or self.needed in who.scope.allowed
                    if audited is not None and may:
                        await audited.begin()
            if body is not None and (_has_body(request) or not may_lack_body):
                check_media_type(request, *self.media_types)
            return await handle(self.request_class(request.scope, request.receive))

        return checked


def described(
    summary: str,
    model: Any = None,
    *errors: int,
    scope: str | Callable[..., Any] | None = None,
    also: Mapping[Any, Any] | None = None,
    **more: Any,
) -> Callable[[F], F]:
    """Describe a handler to the `StrictRouter` that serves it.

    `model` is that of its body, `scope` what its caller needs; `errors` come beside
    those of any route, `also` are other answers than the usual one.
    """
    needed = need_scope(scope) if isinstance(scope, str) else scope
    told: dict[str, Any] = {
        "summary": summary,
        "responses": {**(also or {}), **(documented(*errors) if errors else {})},
        "dependencies": [Depends(needed)] if needed else [],
        **({"response_model": model} if model else {"response_class": Response}),
        **more,
    }

    def describe(handler: F) -> F:
        vars(handler)[_DESCRIBED] = told
        return handler

    return describe


def audited(action: Action) -> Callable[[F], F]:
    """Have the audit keep the requests of a handler as this."""

    def mark(handler: F) -> F:
        vars(handler)[_AUDITED] = action
        return handler

    return mark


class StrictRouter(APIRouter):
    """Serves handlers behind the door, as they are described."""

    def add_api_route(
        self, path: str, endpoint: Callable[..., Any], **given: Any
    ) -> None:
        """Serve a handler at an address."""
        # One that is described too late, or not, would be served to anybody.
        super().add_api_route(path, endpoint, **{**given, **vars(endpoint)[_DESCRIBED]})


def strict_router(
    prefix: str,
    tag: str,
    *needed: Callable[..., Any],
    route_class: type[StrictRoute] = StrictRoute,
) -> StrictRouter:
    """Return the router of documented routes, with the errors that any may answer."""
    return StrictRouter(
        prefix=prefix,
        tags=[tag],
        dependencies=[Depends(each) for each in needed],
        route_class=route_class,
        responses=documented(),
    )


def _has_body(request: Request) -> bool:
    size = request.headers.get("content-length", "0")
    return size != "0" or "transfer-encoding" in request.headers


def _check_names(unknown: set[str], known: set[str]) -> None:
    if not unknown:
        return
    first = min(unknown)
    raise InvalidRequestError(
        f"{first[:100]!r} is not a parameter here.{suggest.hint(first, known)}",
        code="unknown_filter",
        details={"allowed": sorted(known)},
    )


def _check_once(request: Request, names: set[str]) -> None:
    """Refuse a parameter that is given twice, of which one would be forgotten."""
    given = Counter(name for name, _ in request.query_params.multi_items())
    for name in sorted(names):
        if given[name] > 1:
            message = f"{name} is given twice."
            raise InvalidRequestError.field(name, "duplicate", message)


def check_media_type(request: Request, *accepted: str) -> None:
    """Raise 415 unless the body has one of these media types, and is as it was made."""
    coding = request.headers.get("content-encoding", "").strip().lower()
    if coding not in {"", "identity"}:
        message = f"A body comes as it is, not as {coding[:100]!r} (Content-Encoding)."
        raise InvalidRequestError(message, code="unsupported_media_type")
    kind, _, options = request.headers.get("content-type", "").partition(";")
    charset = options.strip().lower().removeprefix("charset=").strip('"')
    if kind.strip().lower() in accepted and charset in {"", "utf-8", "utf8"}:
        return
    kinds = " or ".join(accepted)
    message = f"The body must be {kinds}, in UTF-8, and its header Content-Type say so."
    raise InvalidRequestError(message, code="unsupported_media_type")


def _query_names(route: APIRoute) -> set[str]:
    return {param.alias for one in _dependants(route) for param in one.query_params}


def _documented_names(route: APIRoute) -> set[str]:
    """Return the parameters that its description names beside those of its handler."""
    extra = route.openapi_extra or {}
    return {one["name"] for one in extra.get("parameters", ())}


def _listed_names(route: APIRoute) -> set[str]:
    """Return the parameters that take several values, each by itself."""
    return {
        param.alias
        for one in _dependants(route)
        for param in one.query_params
        if _is_list(param.field_info.annotation)
    }


def _is_list(annotation: Any) -> bool:
    return get_origin(annotation) is list or any(map(_is_list, get_args(annotation)))


def _asks_who_calls(route: APIRoute) -> bool:
    return any(one.call is caller for one in _dependants(route))


def _find_mark(route: APIRoute, name: str) -> Any:
    """Return a mark of the dependency that checks a route's callers."""
    marks = (getattr(one.call, name, None) for one in _dependants(route))
    return next(filter(None, marks), None)


def _find_action(route: APIRoute) -> Action | None:
    """Return as what a route is audited: whatever an admin changes, always is."""
    marked: Action | None = getattr(route.endpoint, _AUDITED, None)
    marks = (getattr(one.call, "needed", None) for one in _dependants(route))
    is_admins = "admin" in marks and "GET" not in (route.methods or ())
    return marked or ("administer" if is_admins else None)


def _dependants(route: APIRoute) -> Iterator[Dependant]:
    waiting = [route.dependant]
    while waiting:
        one = waiting.pop()
        yield one
        waiting += one.dependencies


def _check_address(request: Request) -> None:
    raw: bytes = request.scope.get("raw_path") or b""
    for name, part in (("path", raw), ("query", request.scope["query_string"])):
        try:
            text = unquote_to_bytes(part.replace(b"+", b" ")).decode("utf-8")
        except UnicodeDecodeError as exc:
            message = f"The {name} of the address is not UTF-8."
            raise InvalidRequestError(message, code="invalid_encoding") from exc
        door.admit(text, name)
