"""One shape for every error: the API's one place that catches everything."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args, get_origin

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from pydantic.fields import FieldInfo
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import compile_path

from api.server.body_model import Body
from api.server.json_response import as_json
from shared import suggest
from shared.errors import (
    CODES,
    AccessError,
    InternalError,
    InvalidRequestError,
    JsonObject,
    LogchordError,
    NotFoundError,
)
from shared.log import get_logger

log = get_logger()

# Where the API's description keeps it.
ERROR_SCHEMA = "#/components/schemas/ErrorBody"

# What a route may answer whatever it does; a route names its own beside these.
COMMON_STATUSES = (400, 401, 403, 405, 413, 415, 422, 429, 431, 500, 503)


class ErrorInfo(Body):
    """What went wrong, and whether the same request is worth another try."""

    id: str = Field(description="Stands in the log.")
    code: str = Field(examples=["validation_failed"])
    category: str = Field(examples=["request"])
    severity: str = Field(examples=["CRITICAL"])
    """RETRIABLE: send it again, backing off. CRITICAL: do not."""
    retriable: bool
    message: str
    request_id: str | None
    details: dict[str, Any] | None = None


class ErrorBody(BaseModel):
    """The body of every answer that is not a success."""

    error: ErrorInfo


# Shows an error, its body and its headers.
ErrorView = Callable[[LogchordError, Mapping[str, Any], Mapping[str, str]], Response]


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the error answers of a route, for its documentation."""
    found: dict[int | str, dict[str, Any]] = {}
    for status in sorted({*COMMON_STATUSES, *statuses}):
        codes = [code for code, row in CODES.items() if row.status == status]
        # A reference: with "model" the framework builds a validator for each of a
        # thousand, a third of the time that the import of the API takes.
        found[status] = {
            "description": "`" + "`, `".join(codes) + "`",
            "content": {"application/json": {"schema": {"$ref": ERROR_SCHEMA}}},
        }
    return found


class CarriedError(HTTPException):
    """Carries an error of ours through code that would hide any other exception."""

    def __init__(self, error: LogchordError) -> None:
        super().__init__(status_code=error.status, detail=error.message)
        self.error = error


def register(app: FastAPI) -> None:
    """Answer every exception in the one shape."""
    app.add_exception_handler(LogchordError, _ours)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _framework)


def tell_within(error: LogchordError) -> JsonObject:
    """Return the error of a part of an answer, its details written to the log."""
    log.info(
        "part_refused",
        code=error.error_code,
        error_id=str(error.id),
        technical=error.technical,
    )
    request_id = structlog.contextvars.get_contextvars().get("request_id")
    told: JsonObject = error.body(request_id)["error"]
    return told


def answer(error: LogchordError, state: Any) -> Response:
    """Return the response of an error; its details go to the log."""
    request_id = getattr(state, "request_id", None)
    admin = bool(getattr(state, "is_admin", False))
    write = log.error if error.status >= 500 else log.info  # noqa: PLR2004
    write(
        "request_refused",
        code=error.error_code,
        error_id=str(error.id),
        request_id=request_id,
        technical=error.technical,
    )
    headers = dict(getattr(state, "rate_headers", None) or {})
    if error.retry_after_seconds is not None:
        headers["Retry-After"] = str(error.retry_after_seconds)
    elif error.status in {429, 503} and error.retriable:
        headers["Retry-After"] = "1"
    if error.status == 401:  # noqa: PLR2004
        headers["WWW-Authenticate"] = "Bearer"
    if error.status == 416:  # noqa: PLR2004
        headers["Content-Range"] = f"bytes */{error.details['bytes']}"
    body = error.body(request_id, admin=admin)
    if getattr(state, "tells_detail", False):
        told = body["error"]
        fields = (told.get("details") or {}).get("fields")
        body = {"detail": fields or f"{told['message']} ({told['id']})", **body}
    show: ErrorView | None = getattr(state, "show_error", None)
    if show is not None:
        return show(error, body, headers)
    return as_json(body, error.status, headers)


def show_errors_by(state: Any, show: ErrorView) -> None:
    """Let the errors of a request be shown as its readers see them."""
    state.show_error = show


def tell_detail(state: Any) -> None:
    """Let the errors of a request carry `detail`, for clients that read that."""
    state.tells_detail = True


def unexpected(exc: Exception, state: Any) -> Response:
    """Return the response of what nobody foresaw."""
    error = InternalError(technical=f"{type(exc).__name__}: {exc}")
    log.error("unexpected_error", error_id=str(error.id), exc_info=exc)
    return answer(error, state)


async def _ours(request: Request, exc: Exception) -> Response:
    assert isinstance(exc, LogchordError)
    return answer(exc, request.state)


async def _invalid(request: Request, exc: Exception) -> Response:
    assert isinstance(exc, RequestValidationError)
    carried = [
        error["ctx"]["error"]
        for error in exc.errors()
        if isinstance(error.get("ctx", {}).get("error"), LogchordError)
    ]
    body = getattr(request.scope.get("route"), "body_field", None)
    model = None if body is None else body.field_info.annotation
    error = carried[0] if carried else invalid(exc.errors(), model)
    return answer(error, request.state)


async def _framework(request: Request, exc: Exception) -> Response:
    if isinstance(exc, CarriedError):
        return answer(exc.error, request.state)
    assert isinstance(exc, HTTPException)
    response = answer(_translated(exc), request.state)
    if exc.status_code == 405:  # noqa: PLR2004
        allowed = (exc.headers or {}).get("Allow", "")
        response.headers["Allow"] = ", ".join(_methods(request)) or allowed
    return response


def _methods(request: Request) -> list[str]:
    """Return every method of this address; the framework names one route's only."""
    found: set[str] = set()
    templates = request.app.openapi()["paths"]
    # An address of its own is none of those that have a name in its place.
    exact = templates.keys() & {request.url.path}
    for template in exact or templates:
        pattern, _, _ = compile_path(template)
        if pattern.match(request.url.path):
            found |= {method.upper() for method in templates[template]}
    return sorted(found | {"HEAD"} if "GET" in found else found)


def _translated(exc: HTTPException) -> LogchordError:
    if exc.status_code == 404:  # noqa: PLR2004
        return NotFoundError()
    if exc.status_code == 405:  # noqa: PLR2004
        message = "This address does not take this method."
        return InvalidRequestError(message, code="method_not_allowed")
    if exc.status_code in {401, 403}:
        return AccessError()
    return InvalidRequestError(str(exc.detail), code="invalid_json")


def _path(error: Any, model: Any, within: int) -> list[str]:
    """Return where a field stands, as its sender has written it."""
    place = error["loc"][1:within]
    below = error["loc"][within:]
    if model is not None and error["loc"][0] == "body":
        is_unknown = error["type"] == suggest.UNKNOWN
        below = _as_sent(model, below, is_unknown=is_unknown)
    return [str(part) for part in (*place, *below)]


def invalid(errors: Any, model: Any = None, within: int = 1) -> InvalidRequestError:
    """Return the 422 that names every field that is wrong, and who was meant.

    `model` is what was read; it stands `within` so many parts of each place.
    """
    fields = [
        {
            "path": ".".join(_path(error, model, within)) or "body",
            "code": error["type"],
            "message": error["msg"].removeprefix("Value error, "),
        }
        for error in errors[:100]
    ]
    for field, error in zip(fields, errors, strict=False):
        if error["type"] == suggest.UNKNOWN and error["loc"][0] == "body":
            hint = suggest.hint_field(model, error["loc"][within:])
            field["message"] = f"There is no such field.{hint}"
    first = fields[0] if fields else {"path": "body", "message": "is not valid"}
    message = f"{first['path']}: {first['message']}"
    message += "" if message.endswith((".", "?")) else "."
    return InvalidRequestError(message[:500], details={"fields": fields})


def _as_sent(
    body: Any, place: Sequence[str | int], *, is_unknown: bool
) -> list[str | int]:
    """Return a place of a body without the names that models of a choice have.

    Of `PushBody` these are `one` and `many`, of `rerank` all that it may be.
    `is_unknown`: the last of the place is a field that no model has.
    """
    said = [body]
    kept: list[str | int] = []
    for number, part in enumerate(place, 1):
        models = [one for annotation in said for one in suggest.find_models(annotation)]
        found = [info for one in models if (info := _field(one, part)) is not None]
        if found:
            said = [info.annotation for info in found]
        is_key = isinstance(part, int) or any(map(_is_mapping, said))
        if found or is_key or (is_unknown and number == len(place)):
            kept.append(part)
    return kept


def _field(model: type[BaseModel], part: str | int) -> FieldInfo | None:
    fields = model.model_fields
    named = (info for info in fields.values() if part == info.alias)
    return fields.get(str(part)) or next(named, None)


def _is_mapping(said: Any) -> bool:
    return get_origin(said) is dict or any(map(_is_mapping, get_args(said)))
