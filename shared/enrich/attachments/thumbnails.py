"""A small picture of a large one, made in the child that reads foreign files.

What comes out is a JPEG of our own, without anything that stood beside the pixels: not
where it was taken, nor by whom.
"""

import io
import warnings
from typing import BinaryIO

from PIL import Image, ImageOps

# At four bytes a pixel, so many unpacked pixels fit into the child's memory.
MAX_PIXELS = 40_000_000
FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF")
_QUALITY = 75
_WHITE = (255, 255, 255)


class NoThumbnailError(Exception):
    """There is no small picture of this one; its argument says why."""


def make(file: BinaryIO, edge: int, most_bytes: int) -> bytes:
    """Return a JPEG within an edge and a size; raises why there is none."""
    warnings.simplefilter("ignore", Image.DecompressionBombWarning)
    try:
        with Image.open(file, formats=FORMATS) as picture:
            # A JPEG is unpacked at half, a quarter or an eighth of its size.
            picture.draft("RGB", (edge, edge))
            if picture.width * picture.height > MAX_PIXELS:
                raise NoThumbnailError("too_many_pixels")
            small = _flat(_shrunk(ImageOps.exif_transpose(picture), edge))
    except MemoryError as exc:
        raise NoThumbnailError("memory") from exc
    except (OSError, ValueError, SyntaxError, ArithmeticError, LookupError) as exc:
        # What a decoder raises of a file that is cut off, or lies.
        raise NoThumbnailError("broken") from exc
    written = io.BytesIO()
    small.save(written, "JPEG", quality=_QUALITY, optimize=True)
    if written.tell() > most_bytes:
        raise NoThumbnailError("too_large")
    return written.getvalue()


def _shrunk(picture: Image.Image, edge: int) -> Image.Image:
    """Convert the picture to a mode that can be scaled, and scale it down."""
    if picture.mode[0] in "IF":
        # A camera's 12 or 16 bits: from its darkest to its brightest.
        picture = picture.convert("F")
        low, high = (float(value) for value in picture.getextrema())  # type: ignore[arg-type]
        scale = 255 / (high - low) if high > low else 0.0
        picture = picture.point(lambda value: value * scale - low * scale).convert("L")
    elif picture.mode not in {"L", "RGB", "RGBA"}:
        is_clear = picture.has_transparency_data
        picture = picture.convert("RGBA" if is_clear else "RGB")
    picture.thumbnail((edge, edge))
    return picture


def _flat(picture: Image.Image) -> Image.Image:
    """Return the picture on a white background, without transparency."""
    if picture.mode != "RGBA":
        return picture.convert("RGB")
    paper = Image.new("RGB", picture.size, _WHITE)
    paper.paste(picture, mask=picture.getchannel("A"))
    return paper
