"""One connection to Redis for a loop: what is asked goes out at once, and in turn.

A client of redis-py spends more processor time on its pool, its retries and its events
than a command itself takes, and a search waits for four of them.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any, Self, cast

import hiredis
import redis.asyncio
from redis.exceptions import ConnectionError as LostError
from redis.exceptions import InvalidResponse, NoScriptError, RedisError, ResponseError

_NOT_ENOUGH = object()
_NO_SCRIPT = "NOSCRIPT "

Taker = Callable[[Any], None]


class RedisLink(asyncio.Protocol):
    """Hands each answer to the one who asked, in the order of the questions.

    Never connects again by itself: `lost` ends with the reason, and so does each
    question that has no answer yet.
    """

    def __init__(self, connection: redis.asyncio.Connection) -> None:
        # It has greeted the server already, with whatever the address asks for.
        self._connection = connection
        writer: Any = connection._writer  # noqa: SLF001 - it has no public name
        self._transport: asyncio.Transport = writer.transport
        self._greeter = self._transport.get_protocol()
        self._reader = hiredis.Reader(
            protocolError=InvalidResponse,
            replyError=_refusal,
            encoding="utf-8",
            errors="replace",
            notEnoughData=_NOT_ENOUGH,
        )
        self._takers: deque[Taker] = deque()
        self.lost: asyncio.Future[RedisError | OSError] = (
            asyncio.get_running_loop().create_future()
        )
        self._transport.set_protocol(self)

    @classmethod
    async def open(cls, client: redis.asyncio.Redis) -> Self:
        """Connect as this client would, by its address and within its times."""
        connection = client.connection_pool.make_connection()
        async with AsyncExitStack() as undo:
            # Whoever would not wait any longer leaves nothing behind.
            undo.push_async_callback(connection.disconnect, nowait=True)
            await connection.connect()
            undo.pop_all()
        return cls(connection)

    def ask(self, command: tuple[str | int | float, ...], take: Taker) -> None:
        """Send a command; the answer, or an error as a value, goes to `take` once."""
        if self.lost.done():
            raise self.lost.result()
        self._takers.append(take)
        self._transport.write(hiredis.pack_command(command))  # type: ignore[arg-type]

    async def answer(self, *command: str | float) -> Any:
        """Send a command and return its answer, or raise the error that it is."""
        told: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        def take(answer: Any) -> None:
            # Whoever asked may have given up; its turn is taken all the same.
            if not told.done():
                told.set_result(answer)

        self.ask(command, take)
        answer = await told
        if isinstance(answer, RedisError | OSError):
            raise answer
        return answer

    def close(self, why: RedisError | OSError | None = None) -> None:
        """Close the connection; all who wait for answers get an error."""
        self._lose(why or LostError("The connection was closed."))
        self._connection._close()  # noqa: SLF001 - the public one is no plain function
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        """Hand on every answer that has come whole."""
        self._reader.feed(data)
        try:
            while (answer := self._reader.gets()) is not _NOT_ENOUGH:
                if not isinstance(answer, hiredis.PushNotification):
                    self._takers.popleft()(answer)
        except (RedisError, IndexError) as exc:
            self.close(InvalidResponse(str(exc)))

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell everybody; the stream that opened it is told, too."""
        self._lose(exc if isinstance(exc, OSError) else LostError("It was cut."))
        cast("asyncio.Protocol", self._greeter).connection_lost(exc)
        self._connection._close()  # noqa: SLF001

    def _lose(self, why: RedisError | OSError) -> None:
        if self.lost.done():
            return
        self.lost.set_result(why)
        while self._takers:
            self._takers.popleft()(why)


def _refusal(message: str) -> ResponseError:
    kind = NoScriptError if message.startswith(_NO_SCRIPT) else ResponseError
    return kind(message)
