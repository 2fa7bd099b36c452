"""Requests to a source with good manners: bounded, paced, tried again."""

import io
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

import tenacity

from shared.adapter_contract.contract import NO_STATUS
from shared.errors import IngestionError, SourceUnreachableError
from shared.http import bounded_response, failures
from shared.http.bounded_response import HTTPReply
from shared.http.connections import Patience
from shared.http.pace import OUR_OWN, Pace, add_jitter, pause
from shared.http.request import Answer, Asker, HTTPRequest
from shared.settings.source_sections import SourceSettings

# One request and its retries: less than a task's soft time limit.
_BUDGET_SECONDS = 40.0
_MOST_WAIT_SECONDS = 60.0
_RETRY_JITTER = 0.5

Params = Mapping[str, Any] | Sequence[tuple[str, Any]]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Run:
    """The limits of the requests of one run."""

    clock: Callable[[], datetime]
    is_cancelled: Callable[[], bool]
    # By the monotonic clock.
    ends: float = float("inf")
    # Asked before a request is tried again: the wait may be in somebody's way.
    may_try_again: Callable[[], bool] = field(default=lambda: True)


class SourceClient:
    """The requests of one source, made by one thread at a time."""

    def __init__(
        self,
        source: str,
        settings: SourceSettings,
        *,
        asker: Asker,
        pace: Pace,
        run: Run,
    ) -> None:
        self._source = source
        self._settings = settings
        self._asker = asker
        self._pace = pace
        self._run = run
        self._depth = 0
        # Why the last request that failed did: an adapter may have kept it to itself.
        self.failure: IngestionError | None = None

    def get(
        self,
        url: str,
        *,
        params: Params | None = None,
        headers: Mapping[str, str] | None = None,
        allow: Sequence[int] = (),
    ) -> HTTPReply:
        """Ask; `allow` names statuses besides 200 that are answers, NO_STATUS too."""
        with self._of_source():
            where = self._asker.admit(url, params)
        allowed = frozenset({failures.OK, *allow})
        question = HTTPRequest("GET", where, dict(headers or {}), allow=allowed)
        return self._patiently(lambda ends: self._whole(question, ends))

    def post(
        self,
        url: str,
        *,
        body: bytes,
        media_type: str = "application/json",
        headers: Mapping[str, str] | None = None,
        allow: Sequence[int] = (),
    ) -> HTTPReply:
        """Ask a question whose form is a POST; nothing is ever written by it."""
        with self._of_source():
            where = self._asker.admit(url)
        allowed = frozenset({failures.OK, *allow})
        sent = {"Content-Type": media_type, **(headers or {})}
        question = HTTPRequest("POST", where, sent, body, allowed)
        return self._patiently(lambda ends: self._whole(question, ends))

    @contextmanager
    def stream(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        max_bytes: int | None = None,
    ) -> Iterator[Iterator[bytes]]:
        """Read a large answer piece by piece, cut off at its bound.

        It is tried again until its first byte; a silence later on is an error.
        """
        with self._of_source():
            question = HTTPRequest("GET", self._asker.admit(url), dict(headers or {}))
        most = max_bytes
        if most is None:
            # Adapters stream files alone; whoever stores one cuts it at its own bound.
            files = self._settings.max_attachment_bytes
            most = max(self._settings.max_response_bytes, files)

        def begin(ends: float) -> tuple[ExitStack, Answer]:
            with ExitStack() as opened:
                answer = opened.enter_context(self._asked(question, ends, whole=False))
                return opened.pop_all(), answer

        opened, answer = self._patiently(begin)
        with opened:
            yield self._pieces(answer, most)

    def close(self) -> None:
        """Hang up."""
        self._asker.close()

    def _patiently(self, ask: Callable[[float], T]) -> T:
        """Ask again what may succeed later, within one budget."""
        now = time.monotonic()
        ends = min(now + _BUDGET_SECONDS, self._run.ends)
        attempts = tenacity.Retrying(
            retry=tenacity.retry_if_exception(self._is_tried_again),
            stop=tenacity.stop_any(
                tenacity.stop_after_attempt(self._settings.max_retries + 1),
                tenacity.stop_before_delay(max(0.0, ends - now)),
            ),
            wait=self._wait,
            sleep=lambda seconds: pause(seconds, self._run.is_cancelled),
            reraise=True,
        )
        with self._of_source():
            return attempts(_remembering(ask), ends)

    def _is_tried_again(self, error: BaseException) -> bool:
        if not isinstance(error, SourceUnreachableError) or error.reason in OUR_OWN:
            return False
        return self._run.may_try_again()

    def _wait(self, state: tenacity.RetryCallState) -> float:
        """Wait as long as the source asks for; else longer every time."""
        error = state.outcome.exception() if state.outcome else None
        asked = getattr(error, "retry_after_seconds", None)
        first = self._settings.retry_delay_seconds
        if asked is not None:
            return add_jitter(float(asked), first)
        longer = min(first * 2.0 ** (state.attempt_number - 1), _MOST_WAIT_SECONDS)
        return add_jitter(longer, longer, _RETRY_JITTER)

    def _whole(self, question: HTTPRequest, ends: float) -> HTTPReply:
        """Read one answer to its end."""
        fetched_at = self._run.clock()
        body, size = io.BytesIO(), 0
        try:
            with self._asked(question, ends, whole=True) as answer:
                for piece in self._pieces(answer, self._settings.max_response_bytes):
                    size += len(piece)
                    body.write(piece)
        except SourceUnreachableError as exc:
            if exc.reason != failures.EMPTY_REPLY or NO_STATUS not in question.allow:
                raise
            return HTTPReply(NO_STATUS, str(question.url), {}, b"", fetched_at)
        except MemoryError as exc:
            # Who asks may ask for less, as of what is larger than the bound.
            raise bounded_response.too_much(size) from exc
        return HTTPReply(
            status=answer.response.status,
            url=str(answer.url),
            headers=bounded_response.join_headers(answer.response.headers),
            body=body.getvalue(),
            fetched_at=fetched_at,
        )

    @contextmanager
    def _asked(
        self, question: HTTPRequest, ends: float, *, whole: bool
    ) -> Iterator[Answer]:
        """Take a turn, ask, and hold the answer open; within it, its time counts."""
        cancelled = self._run.is_cancelled
        if time.monotonic() >= ends:
            raise SourceUnreachableError(
                "The time of this run is over; the next one goes on.",
                reason="out_of_time",
            )
        # A request within a stream of ours goes on in the stream's own turn.
        turn = nullcontext() if self._depth else self._pace.turn(ends, cancelled)
        with turn:
            seconds = self._settings.request_timeout_seconds
            last = min(time.monotonic() + seconds, ends)
            patience = Patience(seconds, last, cancelled)
            self._depth += 1
            try:
                answer = self._answered(question, patience)
                if not whole:
                    patience.ends = self._run.ends
                try:
                    yield answer
                finally:
                    answer.response.close()
            finally:
                self._depth -= 1

    def _answered(self, question: HTTPRequest, patience: Patience) -> Answer:
        try:
            return self._asker.ask(question, patience)
        except SourceUnreachableError as exc:
            if exc.retry_after_seconds:
                # Whoever else asks this source is to wait as well.
                self._pace.rest(exc.retry_after_seconds)
            raise

    def _pieces(self, answer: Answer, most: int) -> Iterator[bytes]:
        with self._of_source(), failures.translate_network_errors(answer.url):
            yield from bounded_response.pieces(answer.response, most)
            if bounded_response.is_longer_than_promised(answer.response):
                # What is left of it would be read as the next answer.
                self.close()
                raise SourceUnreachableError(
                    "The source sent more than it had promised.", reason="wrong_length"
                )

    @contextmanager
    def _of_source(self) -> Iterator[None]:
        try:
            yield
        except IngestionError as exc:
            exc.source = self._source
            self.failure = exc
            raise


def _remembering(ask: Callable[[float], T]) -> Callable[[float], T]:
    """Raise the source's own failure again when we cut the next try short."""
    failed: list[SourceUnreachableError] = []

    def again(ends: float) -> T:
        try:
            return ask(ends)
        except SourceUnreachableError as exc:
            if failed and exc.reason in OUR_OWN - {"cancelled"}:
                raise failed[-1] from exc
            failed.append(exc)
            raise

    return again
