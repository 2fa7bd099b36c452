"""An answer of a source: read within its bounds, and what it says."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import httpcore2
import httpx2

from shared.errors import IngestionError
from shared.http import failures
from shared.http.connections import Stream
from shared.http.unpack import Unpacker
from shared.text import decoding

_SHOWN_CHARACTERS = 200
_CHARSET = re.compile(r"(?i)(?:^|;)\s*charset\s*=\s*\"?([^\s\";]+)")
_CODINGS = {"gzip": "gzip", "x-gzip": "gzip", "deflate": "deflate"}


@dataclass(frozen=True, slots=True)
class HTTPReply:
    """The answer to one request."""

    status: int
    url: str
    # By lower-case name.
    headers: Mapping[str, str]
    body: bytes
    # When the request was sent.
    fetched_at: datetime

    @property
    def media_type(self) -> str:
        """Lower case, without parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def charset(self) -> str | None:
        """As declared."""
        found = _CHARSET.search(self.headers.get("content-type", "")[:1000])
        return found[1] if found else None

    def text(self) -> str:
        """Return the body as text, repaired where it must be."""
        try:
            return decoding.decode(self.body, self.charset).text
        except MemoryError as exc:
            raise too_much(len(self.body)) from exc

    def json(self) -> Any:
        """Return the body as JSON, or raise `unexpected_shape`."""
        text = self.text()
        try:
            return _parsed(text)
        except MemoryError as exc:
            raise too_much(len(self.body)) from exc
        except (ValueError, RecursionError) as exc:
            what = "a web page" if text.lstrip()[:1] == "<" else "something else"
            where = failures.mask_url(httpx2.URL(self.url))
            raise IngestionError(
                f"{where} answers with {what} instead of JSON; check `base_url` and"
                " `adapter`.",
                reason="unexpected_shape",
                technical=f"{exc!r}: {text[:_SHOWN_CHARACTERS]}",
            ) from exc


def _parsed(text: str) -> Any:
    try:
        # NaN and its like are no JSON and cannot be stored; as words they can.
        return json.loads(text, parse_constant=str)
    except json.JSONDecodeError:
        raise
    except ValueError:
        # One absurdly long number is one item's fault.
        return json.loads(text, parse_constant=str, parse_int=_whole_number)


def _whole_number(text: str) -> int | str:
    try:
        return int(text)
    except ValueError:
        return text


def join_headers(headers: Sequence[tuple[bytes, bytes]]) -> dict[str, str]:
    """Return headers by lower-case name; several of one name are joined."""
    found: dict[str, str] = {}
    for raw_name, raw_value in headers:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        found[name] = f"{found[name]}, {value}" if name in found else value
    return found


def pieces(response: httpcore2.Response, most: int) -> Iterator[bytes]:
    """Yield a body unpacked; both its packed and its unpacked size have an end."""
    unpacker = _unpacker(join_headers(response.headers).get("content-encoding", ""))
    taken = given = 0
    for chunk in response.iter_stream():
        taken += len(chunk)
        for piece in unpacker.feed(chunk) if unpacker else (chunk,):
            given += len(piece)
            if max(taken, given) > most:
                raise _too_large(most)
            yield piece
        if taken > most:
            raise _too_large(most)
    if unpacker:
        unpacker.end()


def is_longer_than_promised(response: httpcore2.Response) -> bool:
    """Tell whether more bytes came than the Content-Length of an answer says."""
    promised = join_headers(response.headers).get("content-length", "").strip()
    stream = response.extensions.get("network_stream")
    if not isinstance(stream, Stream) or not promised.isdigit():
        return False
    return stream.body_bytes > int(promised)


def _unpacker(codings: str) -> Unpacker | None:
    coding = codings.strip().lower()
    if coding in {"", "identity"}:
        return None
    if coding not in _CODINGS:
        raise IngestionError(
            f"The source packs its answer as {coding[:40]!r}, which nobody asked for.",
            reason="unasked_encoding",
        )
    return Unpacker(_CODINGS[coding])


def too_much(size: int) -> IngestionError:
    """Return the error for an answer that would take more memory than a worker has."""
    return IngestionError(
        f"An answer of {size} bytes, or more, takes more memory than a worker has: ask"
        " for less at once (`page_size`, `args.chunk_days`), or raise"
        " `worker_memory_mb`.",
        reason="too_large",
    )


def _too_large(most: int) -> IngestionError:
    return IngestionError(
        f"An answer is larger than {most} bytes; it was cut off.", reason="too_large"
    )
