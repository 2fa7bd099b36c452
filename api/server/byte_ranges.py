"""The part of a file that a request asks for: to go on with it, or to play it."""

import re
from collections.abc import Mapping

from shared.errors import InvalidRequestError

_RANGE = re.compile(r"bytes=(?:([0-9]{1,18})-([0-9]{0,18})|-([0-9]{1,18}))")


def read_range(headers: Mapping[str, str], size: int, etag: str) -> range | None:
    """Return the bytes asked for; None: all, as for several parts or another file."""
    asked = _RANGE.fullmatch(headers.get("range", "").replace(" ", ""))
    if asked is None or headers.get("if-range", etag) != etag:
        return None
    first, last, most = asked.groups()
    if most is not None:
        part = range(max(0, size - int(most)), size)
    elif last and int(last) < int(first):
        return None
    else:
        part = range(int(first), min(int(last or size), size - 1) + 1)
    if not part:
        message = f"The file has {size} bytes, and none of those asked for."
        details = {"bytes": size}
        raise InvalidRequestError(
            message, code="range_not_satisfiable", details=details
        )
    return part
