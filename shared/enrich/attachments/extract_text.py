"""The text of a foreign file, read by a child with bounds that nothing in it can move.

Neither the API nor a worker ever decodes what somebody attached.
"""

import base64
import binascii
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from typing import Any, BinaryIO

from shared.enrich.attachments import file_type
from shared.enrich.attachments.archive import unsafe
from shared.enrich.attachments.file_store import translate_file_errors
from shared.errors import IngestionError, InvalidRequestError
from shared.log import get_logger
from shared.text import decoding

log = get_logger()

_CHILD = "shared.enrich.attachments.child"
# JSON takes up to six bytes for a character of two.
_OUTPUT_PER_TEXT = 8
# Noise of the largest edge that may be set takes less.
MAX_THUMBNAIL_BYTES = 180_000
# What is not text: how it ended, and a thumbnail with a third more for its letters.
_OUTPUT_BESIDE = 65_536 + 4 * MAX_THUMBNAIL_BYTES // 3
_KILLED = "killed"
_JPEG = b"\xff\xd8\xff"
_DOCUMENT = re.compile(r"application/vnd\.[a-z.-]{1,100}")


@dataclass(frozen=True, slots=True)
class ExtractionBounds:
    """What reading one file may cost, and how much of it is kept."""

    seconds: float
    memory_mb: int
    max_text_bytes: int
    max_unpacked_bytes: int
    max_members: int
    max_ratio: int
    # The longer side of a thumbnail in pixels; 0: none is made.
    thumbnail_pixels: int = 0

    @property
    def max_output_bytes(self) -> int:
        """Return the most bytes that the child may write."""
        return self.max_text_bytes * _OUTPUT_PER_TEXT + _OUTPUT_BESIDE


@dataclass(frozen=True, slots=True)
class Extracted:
    """The type and the readable text of a file; with an error, the text before it."""

    media_type: str
    text: str
    error: IngestionError | None = None
    # A small JPEG of a picture.
    thumbnail: bytes | None = None


def extract(file: BinaryIO, media_type: str, bounds: ExtractionBounds) -> Extracted:
    """Return the text of an open file; raises only for an archive that is unsafe.

    The file must have a descriptor; where it stands afterwards is nobody's business.
    """
    told, ended = _told(file, media_type, bounds)
    known = {key: value for line in told for key, value in line.items()}
    if "unsafe" in known:
        raise InvalidRequestError(
            str(known["message"]),
            code="unsafe_archive",
            details={"reason": str(known["unsafe"])},
        )
    said = str(known.get("media_type"))
    found = said if _DOCUMENT.fullmatch(said) else media_type
    text, _ = decoding.mend("".join(str(line.get("text", "")) for line in told))
    text = text.encode()[: bounds.max_text_bytes].decode("utf-8", "ignore").strip()
    if "end" in known:
        return Extracted(found, text, thumbnail=_thumbnail(known, found))
    reason = str(known.get("failed", ended))
    if found == file_type.ZIP and reason in {_KILLED, "memory"}:
        # What cannot be looked through within the bounds is not known to be safe.
        raise unsafe(reason, "it cannot be looked through")
    log.info("text_not_extracted", media_type=found, reason=reason)
    message = "The text of this file could not be read, or not all of it."
    return Extracted(found, text, IngestionError(message, reason=f"extract_{reason}"))


def _told(
    file: BinaryIO, media_type: str, bounds: ExtractionBounds
) -> tuple[list[dict[str, Any]], str]:
    """Run the child; return its output, and how it ended."""
    asked = {
        **asdict(bounds),
        "max_output_bytes": bounds.max_output_bytes,
        "max_thumbnail_bytes": MAX_THUMBNAIL_BYTES,
        "media_type": media_type,
    }
    # No room, or no process: this machine's, and no fault of the file.
    with translate_file_errors(), tempfile.TemporaryFile() as output:
        child = subprocess.Popen(  # noqa: S603 - our own module, by our own Python
            [sys.executable, "-P", "-m", _CHILD, json.dumps(asked)],
            stdin=file,
            stdout=output,
            stderr=subprocess.DEVNULL,
            # No secret of ours lies in its environment.
            env={"LC_ALL": "C.UTF-8", "OMP_NUM_THREADS": "1"},
            start_new_session=True,
        )
        try:
            status = child.wait(bounds.seconds)
        except subprocess.TimeoutExpired:
            status = -signal.SIGKILL
        finally:
            _end(child)
        output.seek(0)
        lines = output.read(bounds.max_output_bytes).split(b"\n")
    ended = _KILLED if status < 0 else "broken"
    # The last line may have been cut by whatever ended the child.
    return [_told_by(line) for line in lines[:-1] if line], ended


def _thumbnail(known: dict[str, Any], media_type: str) -> bytes | None:
    """Return the child's thumbnail if it is a JPEG within the size limit."""
    if "no_thumbnail" in known:
        reason = str(known["no_thumbnail"])[:40]
        log.info("thumbnail_not_made", media_type=media_type, reason=reason)
    try:
        made = base64.b64decode(str(known.get("thumbnail", "")), validate=True)
    except (binascii.Error, ValueError):
        # Whoever has taken over the child may write what they like.
        return None
    is_one = made.startswith(_JPEG) and len(made) <= MAX_THUMBNAIL_BYTES
    return made if is_one else None


def _told_by(line: bytes) -> dict[str, Any]:
    try:
        told: Any = json.loads(line)
    except ValueError:
        # Whoever has taken over the child may write what they like.
        return {}
    return told if isinstance(told, dict) else {}


def _end(child: subprocess.Popen[bytes]) -> None:
    if child.poll() is None:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
