"""Where a source may be asked: its own origin, what the admin added, nothing else.

Addresses come from entries too, and from redirects. A name is looked up once, every
answer is judged, and the connection is made to what was judged.
"""

import ipaddress
import queue
import re
import socket
import threading
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import httpx2

from shared.errors import ConfigurationError, IngestionError, SourceUnreachableError

_PORTS = {"http": 80, "https": 443}
_AUTHORITY = re.compile(r"(?i)https?://([^/?#\\]*+)")
_NAME = re.compile(r"[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?")
_OTHER_DOTS = re.compile("[\u3002\uff0e\uff61]")
_ALL_NUMERIC = re.compile(r"\d+|0x[0-9a-f]*")
_SOCKS = re.compile(r"(?i)^socks5h?://")
_MAX_PORT = 65_535
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
# What clouds tell about a machine, secrets included, outside of link-local.
_METADATA = frozenset(
    ipaddress.ip_address(text) for text in ("100.100.100.200", "fd00:ec2::254")
)
# A name keeps what it resolved to for so long, whatever its owner answers by then.
PIN_SECONDS = 300.0
_MOST_ADDRESSES = 8

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
Lookup = Callable[[str, int], Sequence[str]]


class Origin(NamedTuple):
    """Scheme, host and port: what may be connected to."""

    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == _PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}"


def origin_of(url: httpx2.URL) -> Origin:
    """Return the origin of an address that `parse` has let through."""
    host = url.raw_host.decode("ascii")
    return Origin(url.scheme, host, url.port or _PORTS[url.scheme])


def parse(text: str) -> httpx2.URL:
    """Return a plainly written address, or raise ValueError naming what is odd.

    Odd is whatever two programs may read in two ways: a login, a number for a host, a
    dot that is none.
    """
    try:
        url = httpx2.URL(text)
    except (httpx2.InvalidURL, ValueError, TypeError) as exc:
        raise ValueError("it cannot be read") from exc
    written = _AUTHORITY.match(text)
    if url.scheme not in _PORTS or written is None:
        raise ValueError("it does not begin with http:// or https://")
    if url.userinfo or "@" in written[1] or "%" in written[1]:
        raise ValueError("it holds a login or escapes before its path")
    host = url.raw_host.decode("ascii")
    if _OTHER_DOTS.search(written[1]):
        raise ValueError("its host has dots that are none")
    _check_host(host)
    if url.port is not None and not 0 < url.port <= _MAX_PORT:
        raise ValueError("its port does not exist")
    return url


def _check_host(host: str) -> None:
    if ":" in host:
        address = ipaddress.IPv6Address(host)
        if address.ipv4_mapped or address.scope_id or str(address) != host:
            raise ValueError("its host is an odd spelling of an address")
    elif not _NAME.fullmatch(host):
        raise ValueError("it names no host")
    elif _ALL_NUMERIC.fullmatch(host.rpartition(".")[2]) and not _is_ipv4(host):
        raise ValueError("its host is an odd spelling of an address")


def _is_ipv4(host: str) -> bool:
    try:
        return str(ipaddress.IPv4Address(host)) == host
    except ValueError:
        return False


class AllowList:
    """The origins of one source, and the addresses that their names stand for."""

    def __init__(
        self,
        source: str,
        base_url: str | None,
        others: Sequence[str] = (),
        *,
        proxy: str | None = None,
        allow_private: bool = True,
        lookup: Lookup | None = None,
    ) -> None:
        self._source = source
        self.own = self._configured("base_url", base_url) if base_url else None
        configured = [self._configured("allowed_origins", one) for one in others]
        self._origins = frozenset([*configured, *([self.own] if self.own else [])])
        is_socks = proxy is not None and bool(_SOCKS.match(proxy))
        plain = _SOCKS.sub("http://", proxy) if proxy else None
        self.proxy = self._configured("proxy", plain) if plain else None
        # The proxy itself, if it is one that only connects.
        self.socks = self.proxy if is_socks else None
        self._allow_private = allow_private
        self._lookup = lookup or _look_up
        self._pinned: dict[tuple[str, int], tuple[float, list[str]]] = {}

    def admit(self, text: str) -> httpx2.URL:
        """Return an address that may be asked, or raise `address_refused`."""
        try:
            url = parse(text)
        except ValueError as exc:
            raise self._refused(f"{_shortened(text)!r} is not asked: {exc}.") from exc
        if origin_of(url) not in self._origins:
            raise self._refused(
                f"{_shortened(str(origin_of(url)))} is not an address of this source;"
                " if it should be asked, add it to `allowed_origins`."
            )
        return url

    def is_own(self, url: httpx2.URL) -> bool:
        """Tell whether an address is the source's own, which gets our login."""
        return origin_of(url) == self.own

    def addresses(self, host: str, port: int, *, seconds: float) -> list[str]:
        """Return the addresses of an allowed host, each checked before it is used."""
        known = {(one.host, one.port) for one in self._origins}
        if self.proxy:
            known = {(self.proxy.host, self.proxy.port)}
        if (host, port) not in known:
            raise self._refused(f"{host}:{port} is not an address of this source.")
        kept = self._pinned.get((host, port))
        if kept and kept[0] > time.monotonic():
            return kept[1]
        found = self._judged(host, _within(seconds, self._lookup, host, port))
        self._pinned[host, port] = time.monotonic() + PIN_SECONDS, found
        return found

    def _judged(self, host: str, found: Sequence[str]) -> list[str]:
        literal = ":" in host or _is_ipv4(host)
        for text in found:
            wrong = None if literal else self._wrong_with(host, text)
            if wrong:
                raise self._refused(f"{host} stands for {text}, {wrong}.")
        return list(dict.fromkeys(found))[:_MOST_ADDRESSES]

    def _wrong_with(self, host: str, text: str) -> str | None:
        """Return why a name may not lead to this address; empty if it may."""
        address = _unwrapped(ipaddress.ip_address(text.partition("%")[0]))
        by_name = host == "localhost" or host.endswith(".localhost")
        if address.is_loopback:
            return (
                None if by_name else "this machine; if it is meant, write `localhost`"
            )
        if (
            by_name
            or address.is_unspecified
            or address.is_multicast
            or address.is_link_local
            or address.is_reserved
            or address in _METADATA
        ):
            return "which no logbook has"
        if not address.is_global and not self._allow_private:
            return "a private address (`allow_private` is off)"
        return None

    def _configured(self, setting: str, text: str) -> Origin:
        try:
            return origin_of(parse(text))
        except ValueError as exc:
            key = f"sources.{self._source}.{setting}"
            raise ConfigurationError(
                f"`{key}` cannot be used: {exc}.", config_key=key
            ) from exc

    def _refused(self, message: str) -> IngestionError:
        return IngestionError(message, reason="address_refused", source=self._source)


def _unwrapped(address: IPAddress) -> IPAddress:
    """Return the IPv4 address that an IPv6 address carries, if it carries one."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    teredo = address.teredo[1] if address.teredo else None
    return address.ipv4_mapped or address.sixtofour or teredo or address


def _shortened(text: str) -> str:
    """Return so much of a foreign address as tells it, without what may be secret."""
    return re.sub(r"[?#].*", "", text, flags=re.DOTALL)[:120]


def _look_up(host: str, port: int) -> list[str]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(one[4][0]) for one in found]


def _within(seconds: float, lookup: Lookup, host: str, port: int) -> Sequence[str]:
    """Look a name up; the system's resolver has no time-out that we could set."""
    answers: queue.SimpleQueue[Sequence[str] | OSError] = queue.SimpleQueue()

    def ask() -> None:
        try:
            answers.put(lookup(host, port))
        except OSError as exc:
            answers.put(exc)
        except UnicodeError as exc:
            answers.put(OSError(str(exc)))

    threading.Thread(target=ask, name="lookup", daemon=True).start()
    try:
        answer = answers.get(timeout=max(0.0, seconds))
    except queue.Empty:
        answer = TimeoutError(f"no answer in {seconds:g} s")
    if isinstance(answer, OSError):
        raise SourceUnreachableError(
            f"The name {host!r} cannot be looked up; check its spelling.",
            reason="name_unknown",
            technical=str(answer),
        ) from answer
    if not answer:
        raise SourceUnreachableError(
            f"The name {host!r} stands for no address.", reason="name_unknown"
        )
    return answer
