"""Connections to a source: made to checked addresses, each wait bounded and stopped.

The time-outs of a socket start anew with every byte; here a request has an end, and
whoever waits looks up every half a second whether the run is to stop.
"""

from __future__ import annotations

import ipaddress
import ssl
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import httpcore2
import truststore

from shared.errors import ConfigurationError, SourceUnreachableError
from shared.http import failures
from shared.http.addresses import AllowList
from shared.settings.source_sections import SourceSettings

CONNECT_SECONDS = 5.0
_SLICE_SECONDS = 0.5
_KEEP_ALIVE_SECONDS = 15.0
_LONGEST_HEAD = 131_072
# The server hung up, or spoke no whole sentence: not what a certificate is about.
_CUT_OFF = (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError)
_SOCKS_VERSION = 5
_NO_LOGIN = b"\x05\x01\x00"
_CONNECT = b"\x05\x01\x00"
_IPV4, _NAME, _IPV6 = 1, 3, 4
_ADDRESS_BYTES = {_IPV4: 4, _IPV6: 16}
_PORT_BYTES = 2


@dataclass(slots=True)
class Patience:
    """How long a request may wait, and who may end the wait."""

    # Without a byte.
    idle_seconds: float
    # In all, by the monotonic clock.
    ends: float
    is_cancelled: Callable[[], bool]

    def left(self) -> float:
        """Return how long may still be waited, or raise that it is over."""
        if self.is_cancelled():
            raise SourceUnreachableError("The run was stopped.", reason="cancelled")
        left = self.ends - time.monotonic()
        if left <= 0:
            raise httpcore2.ReadTimeout("the whole answer took too long")
        return left


def make_pool(
    source: str, settings: SourceSettings, connector: Connector
) -> httpcore2.ConnectionPool:
    """Return the connections of one source, through its proxy if it has one."""
    rules: dict[str, Any] = {
        "ssl_context": _trust(source, settings.ca_file),
        "max_keepalive_connections": settings.concurrency,
        "keepalive_expiry": _KEEP_ALIVE_SECONDS,
        "network_backend": connector,
    }
    if not settings.proxy or connector.has_socks:
        return httpcore2.ConnectionPool(**rules)
    if settings.proxy.startswith("https:"):
        rules["proxy_ssl_context"] = _trust(source, settings.ca_file)
    return httpcore2.HTTPProxy(settings.proxy, **rules)


def _trust(source: str, ca_file: str | None) -> ssl.SSLContext:
    """Trust the system's authorities and the source's own; there is no off switch."""
    context = truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if ca_file:
        try:
            context.load_verify_locations(ca_file)
        except (OSError, ssl.SSLError) as exc:
            key = f"sources.{source}.ca_file"
            raise ConfigurationError(
                f"The certificates of `{key}` cannot be read.", config_key=key
            ) from exc
    return context


class Connector(httpcore2.NetworkBackend):
    """Connects to what the allow-list has judged, and to nothing else."""

    def __init__(self, allowed: AllowList) -> None:
        self._allowed = allowed
        self._sockets = httpcore2.SyncBackend()
        # The limits of the present request; a connection takes them from each request.
        self.patience = Patience(0, 0, lambda: False)

    @property
    def has_socks(self) -> bool:
        """Tell whether connections go through a SOCKS proxy."""
        return self._allowed.socks is not None

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ARG002 - ours is the request's
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        """Connect to a host, or have a SOCKS proxy do it."""
        proxy = self._allowed.socks
        place = (proxy.host, proxy.port) if proxy else (host, port)
        stream = self._connected(*place, local_address, socket_options)
        if proxy:
            # What is not handed on is closed, whatever has ended the talk.
            with ExitStack() as opened:
                opened.callback(stream.close)
                _tunnel(stream, host, port)
                opened.pop_all()
        return stream

    def _connected(
        self, host: str, port: int, local_address: str | None, options: Any
    ) -> httpcore2.NetworkStream:
        """Try the addresses of a host, all of them within one time-out."""
        ends = time.monotonic() + min(CONNECT_SECONDS, self.patience.left())
        addresses = self._allowed.addresses(host, port, seconds=_until(ends))
        for count, address in enumerate(addresses, 1):
            share = _until(ends) / (len(addresses) - count + 1)
            try:
                stream = self._sockets.connect_tcp(
                    address, port, max(share, 0.01), local_address, options
                )
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                if count == len(addresses):
                    raise
            else:
                return Stream(stream, self)
        raise httpcore2.ConnectError("no address")

    def sleep(self, seconds: float) -> None:
        """Never asked for: the pool does not retry."""


def _until(ends: float) -> float:
    return max(0.0, ends - time.monotonic())


class Stream(httpcore2.NetworkStream):
    """One connection, whose waits are those of the request that uses it."""

    def __init__(self, inner: httpcore2.NetworkStream, connector: Connector) -> None:
        self._inner = inner
        self._connector = connector
        self._patience = connector.patience
        self._asking = False
        self._head = bytearray()
        # How much has come after the head of the present answer.
        self.body_bytes = 0

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002
        """Wait in short slices for what comes next."""
        self._asking = False
        silent_at = time.monotonic() + self._patience.idle_seconds
        while True:
            left = min(self._patience.left(), silent_at - time.monotonic())
            if left <= 0:
                raise httpcore2.ReadTimeout("no byte in time")
            try:
                data = self._inner.read(max_bytes, min(left, _SLICE_SECONDS))
            except httpcore2.ReadTimeout:
                continue
            self._note(data)
            return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002
        """Send, as a part of the request that the connector is at."""
        if not self._asking:
            self._asking = True
            self._patience = self._connector.patience
            self._head.clear()
            self.body_bytes = 0
        left = min(self._patience.left(), self._patience.idle_seconds)
        self._inner.write(buffer, left)

    def close(self) -> None:
        """Hang up."""
        self._inner.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ARG002
    ) -> httpcore2.NetworkStream:
        """Shake hands; a certificate that is not trusted is nothing to retry."""
        try:
            left = min(self._patience.left(), CONNECT_SECONDS)
            inner = self._inner.start_tls(ssl_context, server_hostname, left)
        except (httpcore2.ReadTimeout, SourceUnreachableError):
            self.close()
            raise
        except httpcore2.ConnectError as exc:
            cause = exc.__cause__ or exc.__context__
            if isinstance(cause, ssl.SSLError) and not isinstance(cause, _CUT_OFF):
                raise failures.of_encryption(server_hostname, cause) from exc
            raise
        return Stream(inner, self._connector)

    def get_extra_info(self, info: str) -> Any:
        """Return the socket's own information."""
        return self._inner.get_extra_info(info)

    def _note(self, data: bytes) -> None:
        """Count what follows the head: a Content-Length may promise less."""
        if self.body_bytes or self._head.endswith(b"\r\n\r\n"):
            self.body_bytes += len(data)
            return
        self._head += data
        while (end := self._head.find(b"\r\n\r\n")) >= 0:
            rest = bytes(self._head[end + 4 :])
            if not self._head.startswith((b"HTTP/1.1 1", b"HTTP/1.0 1")):
                del self._head[end + 4 :]
                self.body_bytes = len(rest)
                return
            self._head[:] = rest
        if len(self._head) > _LONGEST_HEAD:
            self._head.clear()


def _tunnel(stream: httpcore2.NetworkStream, host: str, port: int) -> None:
    """Have a SOCKS 5 proxy look a name up and connect to it (RFC 1928)."""
    stream.write(_NO_LOGIN)
    version, method = _exactly(stream, 2)
    if version != _SOCKS_VERSION or method != 0:
        raise httpcore2.ProxyError("it wants a login, or is no SOCKS 5 proxy")
    stream.write(_CONNECT + _address(host) + port.to_bytes(_PORT_BYTES, "big"))
    version, reply, _, kind = _exactly(stream, 4)
    if version != _SOCKS_VERSION or reply != 0:
        raise httpcore2.ProxyError(f"it cannot connect ({reply})")
    # Where it connects from is of no interest, but must be read.
    if kind == _NAME:
        length = _exactly(stream, 1)[0]
    elif kind in _ADDRESS_BYTES:
        length = _ADDRESS_BYTES[kind]
    else:
        raise httpcore2.ProxyError("its answer makes no sense")
    _exactly(stream, length + _PORT_BYTES)


def _address(host: str) -> bytes:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        name = host.encode("ascii")
        return bytes([_NAME, len(name)]) + name
    return bytes([_IPV4 if address.version == 4 else _IPV6]) + address.packed  # noqa: PLR2004


def _exactly(stream: httpcore2.NetworkStream, count: int) -> bytes:
    data = b""
    while len(data) < count:
        piece = stream.read(count - len(data))
        if not piece:
            raise httpcore2.ProxyError("it hung up")
        data += piece
    return data
