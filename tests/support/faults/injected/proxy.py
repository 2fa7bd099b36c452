"""A TCP proxy that misbehaves on request: `proxy.py HOST PORT` stands before a server.

Its first line of output names its two ports: of the links, and of the control. A line
sent to the control is a command; it is in force once `ok` comes back:

    cut             end every link with RST, on both sides
    drop_s2c 0|1    what the server sends vanishes; the sockets stay open
    drop_c2s 0|1    what the client sends vanishes
    refuse 0|1      new links get RST
    deaf 0|1        listen, and accept nobody
    delay S         hold every chunk back for so many seconds
    slice N         pass on N bytes at a time; 0: as they come
    bandwidth N     at most N bytes a second in each direction; 0: as fast as it goes
    limit N [WORD]  end a link after N bytes to its client, counted from now; with WORD,
                    from when its client has sent that. -1: never
    slow_close S    pass the end of one side on so many seconds later
    reset           undo all of these
    links           answer `ok` and how many links there are

Standard library only, so that it starts in no time.
"""

import asyncio
import socket
import struct
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass

HOST = "127.0.0.1"
_CHUNK_BYTES = 65_536
_STEPS_A_SECOND = 20
# On, and for no time: closing sends RST and forgets what was not yet sent.
_LINGER_NOT = struct.pack("ii", 1, 0)


@dataclass
class Faults:
    """What is wrong with the links just now."""

    drop_s2c: bool = False
    drop_c2s: bool = False
    refuse: bool = False
    deaf: bool = False
    hold: float = 0
    slice: int = 0
    bandwidth: int = 0
    slow_close: float = 0
    limit: int = -1
    limit_word: bytes = b""

    def set(self, name: str, values: list[str]) -> None:
        """Take one command; raise ValueError for what is none."""
        if name in {"drop_s2c", "drop_c2s", "refuse", "deaf"}:
            (value,) = values
            setattr(self, name, value == "1")
        elif name in {"delay", "slow_close"}:
            (value,) = values
            setattr(self, "hold" if name == "delay" else name, float(value))
        elif name in {"slice", "bandwidth"}:
            (value,) = values
            setattr(self, name, int(value))
        elif name == "limit":
            self.limit = int(values[0])
            self.limit_word = " ".join(values[1:]).encode()
        else:
            raise ValueError(name)


class Link:
    """One client's connection and ours to the server behind it."""

    def __init__(self, faults: Faults) -> None:
        self._faults = faults
        self._writers: list[asyncio.StreamWriter] = []
        self._left: int | None = None
        self._ended = asyncio.Event()

    async def run(
        self,
        client: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        server: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    ) -> None:
        """Pass bytes on in both directions until both have ended."""
        self._writers = [client[1], server[1]]
        self.count_anew()
        await asyncio.gather(
            self._pump(client[0], server[1], to_client=False),
            self._pump(server[0], client[1], to_client=True),
        )
        self._ended.set()
        for writer in self._writers:
            writer.close()

    def cut(self) -> None:
        """End both sides with RST, at once."""
        self._ended.set()
        for writer in self._writers:
            abort(writer)

    def count_anew(self) -> None:
        """Count the bytes to the client from here, or from the awaited word on."""
        asked = self._faults.limit >= 0 and not self._faults.limit_word
        self._left = self._faults.limit if asked else None

    def _dropping(self, *, to_client: bool) -> bool:
        return self._faults.drop_s2c if to_client else self._faults.drop_c2s

    async def _pump(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        to_client: bool,
    ) -> None:
        try:
            while chunk := await reader.read(_CHUNK_BYTES):
                await self._pause(self._faults.hold)
                # Asked after the wait: what is on its way when the link falls silent
                # does not arrive either.
                if self._dropping(to_client=to_client):
                    continue
                if not to_client:
                    self._listen_for_word(chunk)
                async for part in self._parts(chunk):
                    await self._send(writer, part, to_client=to_client)
        except OSError:
            if not self._dropping(to_client=to_client):
                self.cut()
            return
        # Nobody hears over a dead link that the other side has gone.
        if self._dropping(to_client=to_client) or self._ended.is_set():
            return
        await self._pause(self._faults.slow_close)
        with suppress(OSError, RuntimeError):
            writer.write_eof()

    def _listen_for_word(self, chunk: bytes) -> None:
        word = self._faults.limit_word
        if self._faults.limit >= 0 and word and word in chunk:
            self._left = self._faults.limit

    async def _parts(self, chunk: bytes) -> AsyncIterator[bytes]:
        bandwidth = self._faults.bandwidth
        smooth = max(1, bandwidth // _STEPS_A_SECOND) if bandwidth else len(chunk)
        step = min(self._faults.slice or len(chunk), smooth)
        for start in range(0, len(chunk), step):
            part = chunk[start : start + step]
            if bandwidth:
                await self._pause(len(part) / bandwidth)
            yield part

    async def _send(
        self, writer: asyncio.StreamWriter, part: bytes, *, to_client: bool
    ) -> None:
        if to_client and self._left is not None:
            part, over = part[: self._left], len(part) > self._left
            self._left -= len(part)
            if over:
                if part:
                    writer.write(part)
                    await writer.drain()
                self.cut()
                return
        if not self._ended.is_set():
            writer.write(part)
            await writer.drain()

    async def _pause(self, seconds: float) -> None:
        """Wait so long, unless the link ends before."""
        if seconds > 0:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ended.wait(), seconds)


def abort(writer: asyncio.StreamWriter) -> None:
    """Close with RST, whatever is still to be sent."""
    link = writer.get_extra_info("socket")
    with suppress(OSError):
        link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_NOT)
    writer.transport.abort()


class FaultProxy:
    """Links to one server, and what is wrong with them."""

    def __init__(self, upstream: tuple[str, int]) -> None:
        self._upstream = upstream
        self._faults = Faults()
        self._links: dict[Link, asyncio.Task[None]] = {}
        self._listener = socket.create_server((HOST, 0), backlog=128)
        self._listener.settimeout(0)
        self._accepting: asyncio.Task[None] | None = None

    async def serve(self) -> None:
        """Print the two ports, and serve until the input ends."""
        control = await asyncio.start_server(self._control, HOST, 0)
        self._hear()
        ports = self._listener.getsockname()[1], control.sockets[0].getsockname()[1]
        print(*ports, flush=True)
        await control.serve_forever()

    def _hear(self) -> None:
        """Accept, or stop accepting, as it was asked."""
        if self._accepting is not None:
            self._accepting.cancel()
            self._accepting = None
        if not self._faults.deaf:
            self._accepting = asyncio.create_task(self._accept())

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            link, _ = await loop.sock_accept(self._listener)
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            taken = Link(self._faults)
            self._links[taken] = asyncio.create_task(self._join(taken, link))

    async def _join(self, taken: Link, link: socket.socket) -> None:
        client = await asyncio.open_connection(sock=link)
        try:
            if self._faults.refuse:
                abort(client[1])
                return
            try:
                server = await asyncio.open_connection(*self._upstream)
            except OSError:
                abort(client[1])
                return
            await taken.run(client, server)
        finally:
            del self._links[taken]

    async def _control(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        while line := await reader.readline():
            words = line.decode().split()
            try:
                answer = self._obey(words[0], words[1:])
            except (ValueError, IndexError) as exc:
                answer = f"error {exc}"
            writer.write(f"{answer}\n".encode())
            await writer.drain()
        writer.close()

    def _obey(self, name: str, values: list[str]) -> str:
        if name == "links":
            return f"ok {len(self._links)}"
        if name == "cut":
            if values == ["mended"]:
                vars(self._faults).update(vars(Faults()))
            for link in list(self._links):
                link.cut()
            return "ok"
        if name == "reset":
            vars(self._faults).update(vars(Faults()))
        else:
            self._faults.set(name, values)
        if name in {"deaf", "reset"}:
            self._hear()
        if name in {"limit", "reset"}:
            for link in self._links:
                link.count_anew()
        return "ok"


if __name__ == "__main__":
    asyncio.run(FaultProxy((sys.argv[1], int(sys.argv[2]))).serve())
