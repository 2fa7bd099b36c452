"""The outermost layer: request ids, limits counted while reading, safe headers."""

import re
import sys
import time
from typing import Any

import structlog
from starlette.datastructures import Headers, MutableHeaders, State
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.server import errors, metrics
from shared.errors import InvalidRequestError, LogchordError
from shared.ids import uuid7
from shared.log import get_logger
from shared.postgres import request_deadline
from shared.settings.settings import Settings

log = get_logger()

_REQUEST_ID = re.compile(r"^[A-Za-z0-9._-]{1,64}$")
_TOO_LARGE = 413
_LINES = "application/x-ndjson"
# What a form adds to the file in it.
_FORM_BYTES = 65_536
_TRACEPARENT = re.compile(r"^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$")


class Gate:
    """Every request passes it first, every answer last; it catches everything."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, whatever happens inside."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        is_head = scope["method"] == "HEAD"
        if is_head:
            # Whatever can be read can be asked for its headers alone.
            scope = {**scope, "method": "GET"}
        passage = _Passage(self._settings, scope, receive, send, is_head=is_head)
        request_deadline.begin()
        try:
            passage.check_headers()
            await self._app(scope, passage.receive, passage.send)
        except LogchordError as exc:
            await passage.answer(errors.answer(exc, passage.state))
        except Exception as exc:  # noqa: BLE001 - whatever it is, it is answered
            await passage.answer(errors.unexpected(exc, passage.state))
        finally:
            passage.end()


class _Passage:
    """One request on its way in and out."""

    def __init__(
        self,
        settings: Settings,
        scope: Scope,
        receive: Receive,
        send: Send,
        *,
        is_head: bool,
    ) -> None:
        self._settings = settings
        self._is_head = is_head
        self._scope = scope
        self._receive = receive
        self._send = send
        self._headers = Headers(scope=scope)
        self._limit = self._body_limit()
        self._read = 0
        self._started = time.perf_counter()
        self._status = 0
        given = self._headers.get("x-request-id", "")
        parent = self._headers.get("traceparent", "")
        known = _TRACEPARENT.fullmatch(parent)
        self._traceparent = {"traceparent": parent} if known else {}
        self._request_id = given if _REQUEST_ID.fullmatch(given) else str(uuid7())
        state = scope.setdefault("state", {})
        state["request_id"] = self._request_id
        # Later by as long as its body is waited for: that is the sender's time.
        state["arrived"] = time.monotonic()
        # What every task of this request carries, too.
        state["trace"] = {"request_id": self._request_id, **self._traceparent}
        self.state = State(scope["state"])
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=self._request_id)

    def check_headers(self) -> None:
        """Refuse headers and announced bodies that are too large."""
        size = sum(len(name) + len(value) + 4 for name, value in self._scope["headers"])
        if size > self._settings.max_header_bytes:
            message = f"Headers may have {self._settings.max_header_bytes} bytes."
            raise InvalidRequestError(message, code="headers_too_large")
        announced = self._headers.get("content-length", "")
        if announced.isdigit() and int(announced) > self._limit:
            raise self._too_large()

    async def receive(self) -> Message:
        """Hand on a part of the body, counting it."""
        began = time.monotonic()
        message = await self._receive()
        if message["type"] == "http.request":
            self.state.arrived += time.monotonic() - began
            self._read += len(message.get("body", b""))
            if self._read > self._limit:
                raise errors.CarriedError(self._too_large())
        return message

    async def send(self, message: Message) -> None:
        """Hand on a part of the answer, with the headers that each one carries."""
        if message["type"] == "http.response.start":
            self._status = message["status"]
            headers = MutableHeaders(scope=message)
            headers["X-Request-ID"] = self._request_id
            headers["X-Content-Type-Options"] = "nosniff"
            headers.setdefault("Cache-Control", "no-store")
            headers.update(self._traceparent)
            if self._status == _TOO_LARGE and self._is_far_too_large():
                # A little too much is read to its end, so that the client sees why.
                headers["Connection"] = "close"
            limits = getattr(self.state, "rate_headers", None) or {}
            for name, value in limits.items():
                headers[name] = value
            audited = getattr(self.state, "audited", None)
            if audited is not None:
                await audited.end(self._status)
        elif self._is_head:
            message = {**message, "body": b""}
        await self._send(message)

    async def answer(self, response: Any) -> None:
        """Send an error, unless the answer has begun: then the link is cut."""
        if self._status:
            log.warning("answer_cut", request_id=self._request_id)
            return
        await response(self._scope, self.receive, self.send)

    def end(self) -> None:
        """Count the request and write its one log line."""
        route = self._scope.get("route")
        seconds = time.perf_counter() - self._started
        path = getattr(route, "path", "unknown")
        metrics.request_done(path, self._status, seconds)
        log.info(
            "request_done",
            method="HEAD" if self._is_head else self._scope["method"],
            route=path,
            status=self._status,
            ms=round(seconds * 1000, 1),
        )

    def _body_limit(self) -> int:
        path = self._scope["path"].removeprefix(self._settings.base_path)
        if path.startswith("/v1/entries/") and path.endswith("/attachments"):
            return self._settings.max_attachment_bytes + _FORM_BYTES
        if path == "/v1/entries" and self._is_lines():
            # A body of lines has no limit as a whole, only for each line.
            return sys.maxsize
        if path.startswith(("/v1/entries", "/e/")):
            return self._settings.max_batch_bytes
        return self._settings.max_search_body_bytes

    def _is_lines(self) -> bool:
        kind = self._headers.get("content-type", "").partition(";")[0]
        return kind.strip().lower() == _LINES

    def _is_far_too_large(self) -> bool:
        announced = self._headers.get("content-length", "")
        return not announced.isdigit() or int(announced) > 2 * self._limit

    def _too_large(self) -> InvalidRequestError:
        message = f"The body may have {self._limit} bytes here."
        return InvalidRequestError(message, code="body_too_large")
