"""Read the text of one foreign file, in a process of its own that may die of it.

`python -m shared.enrich.attachments.child BOUNDS < FILE` writes one JSON object a line:
pieces of text as they are found, then what the file is. Whatever kills it in between,
what was written stands.
"""

import base64
import io
import json
import logging
import os
import re
import resource
import sys
import warnings
from collections.abc import Callable
from typing import Any, BinaryIO

from shared.enrich.attachments import file_type
from shared.enrich.attachments.archive import Archive, ArchiveLimits
from shared.errors import InvalidRequestError
from shared.text import decoding, plain_text

_MEGABYTE = 1024 * 1024
_NICE = 10
_HELD_BYTES = 32_768
# A page of HTML is rarely more than one quarter text, so so much markup is read.
_MARKUP_PER_TEXT = 4
# An image of a hundred megapixels is large; its pixels are never read anyway.
_MAX_PIXELS = 500_000_000
_TAKEN, _TAKEN_ORIGINALLY, _DESCRIPTION, _EXIF = 0x0132, 0x9003, 0x010E, 0x8769
# PDFium joins a line that ends in a hyphen to the next one by this mark. A word that
# goes on in small letters was cut, `HCM-03` was not.
_LINE_HYPHEN = "\ufffe"
_CUT_WORD = re.compile(f"{_LINE_HYPHEN}(?=[a-z\u00df-\u00ff])")
_LIKE_TEXT = frozenset({"application/json", "application/x-ndjson", "application/xml"})


class FullError(Exception):
    """The limit of kept text is reached; the rest of the file is not read."""


class UnreadableError(Exception):
    """The file cannot be read; the argument says why."""


class Output:
    """Writes what is found, line by line, up to a limit."""

    def __init__(self, most_bytes: int) -> None:
        # What a library prints is none of our lines.
        self._lines = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)
        self.most_bytes = self._left = most_bytes
        self._held: list[str] = []
        self._held_bytes = 0

    def add(self, text: str) -> None:
        """Take a piece of text, or end the reading where there is enough."""
        mended, _ = decoding.mend(text)
        data = mended.encode()
        self._held.append(data[: self._left].decode("utf-8", "ignore"))
        self._held_bytes += len(data)
        self._left -= len(data)
        if self._left <= 0:
            raise FullError
        if self._held_bytes >= _HELD_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write the text collected so far."""
        held, self._held, self._held_bytes = "".join(self._held), [], 0
        if held:
            self.tell(text=held)

    def tell(self, **what: Any) -> None:
        """Write one line at once: what follows may be killed."""
        self._lines.write(f"{json.dumps(what)}\n")
        self._lines.flush()


def main(arguments: list[str]) -> None:
    """Read the file on standard input; errors are written out, not raised."""
    bounds = json.loads(arguments[0])
    _confine(bounds)
    output = Output(bounds["max_text_bytes"])
    file = io.open(0, "rb")  # noqa: SIM115, UP020 - standard input itself, seekable
    file.seek(0)
    outcome: dict[str, Any] = {"failed": "broken"}
    try:
        read_file(file, bounds, output)
        outcome = {"end": "whole"}
    except FullError:
        outcome = {"end": "full"}
    except InvalidRequestError as exc:
        outcome = {"unsafe": exc.details["reason"], "message": exc.message}
    except MemoryError:
        outcome = {"failed": "memory"}
    except UnreadableError as exc:
        outcome = {"failed": str(exc)}
    finally:
        # The text read so far is kept, whatever else ended the reading.
        output.flush()
        output.tell(**outcome)
    if "end" in outcome and bounds["media_type"] in _READS_PICTURES:
        # The thumbnail comes last: its pixels may kill this process, the text is out.
        _tell_thumbnail(file, bounds, output)


def read_file(file: BinaryIO, bounds: dict[str, Any], output: Output) -> None:
    """Tell what the file is, then what can be read in it."""
    media_type = bounds["media_type"]
    if media_type == file_type.ZIP:
        _read_archive(file, bounds, output)
        return
    reader = _READERS.get(media_type)
    if media_type.startswith("text/") or media_type in _LIKE_TEXT:
        reader = reader or _read_text
    if reader is not None:
        reader(file, output)


def _confine(bounds: dict[str, Any]) -> None:
    """Limit this process's memory and time; what it reads cannot lift the limits."""
    memory = bounds["memory_mb"] * _MEGABYTE
    seconds = int(bounds["seconds"]) + 1
    for kind, most in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_FSIZE, bounds["max_output_bytes"]),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, 64),
    ):
        _, hard = resource.getrlimit(kind)
        limit = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (limit, limit))
    os.nice(_NICE)
    logging.disable(logging.CRITICAL)


def _read_archive(file: BinaryIO, bounds: dict[str, Any], output: Output) -> None:
    from shared.enrich.attachments import office_documents

    limits = ArchiveLimits(
        bounds["max_unpacked_bytes"], bounds["max_members"], bounds["max_ratio"]
    )
    archive = Archive(file, limits)
    archive.check()
    kind = office_documents.media_type(archive)
    if kind is None:
        output.add("\n".join(archive.names))
        return
    output.tell(media_type=kind)
    office_documents.read_document(archive, kind, output.add)


def _read_pdf(file: BinaryIO, output: Output) -> None:
    from pypdfium2 import PdfDocument

    for page in PdfDocument(file):
        text = page.get_textpage().get_text_range().replace("\r\n", "\n")
        output.add(_CUT_WORD.sub("", text).replace(_LINE_HYPHEN, "-") + "\n")
        output.flush()


def _read_text(file: BinaryIO, output: Output) -> None:
    output.add(_beginning(file, output.most_bytes))


def _read_html(file: BinaryIO, output: Output) -> None:
    most = output.most_bytes * _MARKUP_PER_TEXT
    output.add(plain_text.to_plain(_beginning(file, most), "html"))


def _tell_thumbnail(file: BinaryIO, bounds: dict[str, Any], output: Output) -> None:
    """Write a thumbnail of the picture, or the reason why there is none."""
    from shared.enrich.attachments import thumbnails

    edge, most = bounds["thumbnail_pixels"], bounds["max_thumbnail_bytes"]
    if not edge:
        return
    file.seek(0)
    try:
        made = thumbnails.make(file, edge, most)
    except thumbnails.NoThumbnailError as exc:
        output.tell(no_thumbnail=str(exc))
    else:
        output.tell(thumbnail=base64.b64encode(made).decode())


def _beginning(file: BinaryIO, most: int) -> str:
    """Return as much of a text as is kept, up to the end of a line."""
    data = file.read(most)
    if len(data) == most:
        # A character that is cut in two would make the rest a guess.
        data = data[: data.rfind(b"\n") + 1] or data
    return decoding.decode(data).text


def _read_picture(file: BinaryIO, output: Output) -> None:
    """Write a picture's format, size, date and description from its header alone."""
    from PIL import Image

    from shared.enrich.attachments.thumbnails import FORMATS

    Image.MAX_IMAGE_PIXELS = _MAX_PIXELS
    warnings.simplefilter("error", Image.DecompressionBombWarning)
    try:
        with Image.open(file, formats=FORMATS) as picture:
            width, height = picture.size
            # Asked for its exif, a PNG is unpacked to its end.
            exif = Image.Exif()
            exif.load(picture.info.get("exif") or b"")
            said = picture.info.get("Description") or picture.info.get("comment")
            output.add(f"{picture.format} {width} x {height}\n")
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as exc:
        raise UnreadableError("too_many_pixels") from exc
    taken = exif.get_ifd(_EXIF).get(_TAKEN_ORIGINALLY) or exif.get(_TAKEN)
    for value in (taken, exif.get(_DESCRIPTION), said):
        text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
        if isinstance(text, str) and text.strip("\0 "):
            output.add(text.strip("\0 ") + "\n")


_READS_PICTURES = tuple(
    f"image/{name}" for name in ("png", "jpeg", "gif", "webp", "bmp", "tiff")
)
_READERS: dict[str, Callable[[BinaryIO, Output], None]] = {
    "application/pdf": _read_pdf,
    "text/html": _read_html,
    **dict.fromkeys(_READS_PICTURES, _read_picture),
}


if __name__ == "__main__":
    main(sys.argv[1:])
