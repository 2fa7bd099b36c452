"""A payload as it is kept: bytes or a JSON value, compressed.

A JSON value is kept as JSON: what comes back is equal, not the same bytes.
"""

import json
import zlib
from typing import Any

# Most of what is to be gained, in a third of the time of the default.
_LEVEL = 1
# A window of 16 kB: as small in the end, and what an entry needs is not asked of the
# system and given back each time (18 us, where 32 kB took 36).
_WINDOW_BITS = 14


def pack(payload: Any) -> bytes:
    """Return bytes or a JSON value, told apart by the first byte and compressed."""
    if isinstance(payload, bytes):
        return b"b" + _compressed(payload)
    return b"j" + _compressed(_as_json(payload).encode())


def unpack(packed: bytes) -> Any:
    """Return the bytes or the JSON value that `pack` was given."""
    data = zlib.decompress(packed[1:])
    return data if packed[:1] == b"b" else json.loads(data)


def _compressed(data: bytes) -> bytes:
    return zlib.compress(data, _LEVEL, wbits=_WINDOW_BITS)


# ASCII, so that what no text may hold survives: a lone surrogate, a NUL.
_as_json = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode
