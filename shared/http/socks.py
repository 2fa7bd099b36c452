"""A tunnel through a SOCKS 5 proxy, which looks the name up itself (RFC 1928)."""

from __future__ import annotations

import ipaddress

import httpcore

_VERSION = 5
_NO_LOGIN = b"\x05\x01\x00"
_CONNECT = b"\x05\x01\x00"
_IPV4, _NAME, _IPV6 = 1, 3, 4
_ADDRESS_BYTES = {_IPV4: 4, _IPV6: 16}
_PORT_BYTES = 2


def tunnel(stream: httpcore.NetworkStream, host: str, port: int) -> None:
    """Have the proxy connect to a host; the stream then speaks with that host."""
    stream.write(_NO_LOGIN)
    version, method = _exactly(stream, 2)
    if version != _VERSION or method != 0:
        raise httpcore.ProxyError("it wants a login, or is no SOCKS 5 proxy")
    stream.write(_CONNECT + _address(host) + port.to_bytes(_PORT_BYTES, "big"))
    version, reply, _, kind = _exactly(stream, 4)
    if version != _VERSION or reply != 0:
        raise httpcore.ProxyError(f"it cannot connect ({reply})")
    # Where it connects from is of no interest, but must be read.
    if kind == _NAME:
        length = _exactly(stream, 1)[0]
    elif kind in _ADDRESS_BYTES:
        length = _ADDRESS_BYTES[kind]
    else:
        raise httpcore.ProxyError("its answer makes no sense")
    _exactly(stream, length + _PORT_BYTES)


def _address(host: str) -> bytes:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        name = host.encode("ascii")
        return bytes([_NAME, len(name)]) + name
    return bytes([_IPV4 if address.version == 4 else _IPV6]) + address.packed  # noqa: PLR2004


def _exactly(stream: httpcore.NetworkStream, count: int) -> bytes:
    data = b""
    while len(data) < count:
        piece = stream.read(count - len(data))
        if not piece:
            raise httpcore.ProxyError("it hung up")
        data += piece
    return data
