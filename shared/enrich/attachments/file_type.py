"""What a file is, by its first bytes alone: neither its name nor its sender is asked.

A name only tells one kind of text from another, which no reader ever runs.
"""

import codecs
from pathlib import PurePosixPath

HEAD_BYTES = 4096
OCTETS = "application/octet-stream"
ZIP = "application/zip"
# What a browser may be told that it is; everything else is bytes to it.
SHOWN_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})

_MAGIC: tuple[tuple[int, bytes, str], ...] = (
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (0, b"BM", "image/bmp"),
    (0, b"II*\x00", "image/tiff"),
    (0, b"MM\x00*", "image/tiff"),
    (0, b"%PDF-", "application/pdf"),
    (0, b"PK\x03\x04", ZIP),
    (0, b"PK\x05\x06", ZIP),
    (0, b"\x1f\x8b", "application/gzip"),
    (0, b"BZh", "application/x-bzip2"),
    (0, b"\xfd7zXZ\x00", "application/x-xz"),
    (0, b"\x28\xb5\x2f\xfd", "application/zstd"),
    (0, b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (0, b"Rar!\x1a\x07", "application/vnd.rar"),
    (257, b"ustar", "application/x-tar"),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
    (0, b"\x89HDF\r\n\x1a\n", "application/x-hdf5"),
    (0, b"CDF\x01", "application/x-netcdf"),
    (4, b"ftyp", "video/mp4"),
    (0, b"\x1a\x45\xdf\xa3", "video/webm"),
    (0, b"OggS", "application/ogg"),
    (0, b"ID3", "audio/mpeg"),
    (0, b"%!PS", "application/postscript"),
    (0, b"\x7fELF", "application/x-elf"),
    (0, b"MZ", "application/vnd.microsoft.portable-executable"),
)
_RIFF = {b"WEBP": "image/webp", b"WAVE": "audio/wav", b"AVI ": "video/x-msvideo"}
# Two letters begin a text as well.
_SHORT = frozenset({b"BM", b"MZ", b"BZh", b"ID3"})
_HTML = (
    *(b"<!doctype html", b"<html", b"<head", b"<body", b"<script", b"<iframe"),
    *(b"<title", b"<table", b"<div", b"<style", b"<p>", b"<h1", b"<a ", b"<br"),
)
_BLANK = b" \t\r\n\x0c"
_OF_NAME = {
    ".csv": "text/csv",
    ".tsv": "text/tab-separated-values",
    ".json": "application/json",
    ".jsonl": "application/x-ndjson",
    ".md": "text/markdown",
}
_ODD_CONTROLS = frozenset(range(32)) - {7, 8, 9, 10, 12, 13, 27}
_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def sniff(head: bytes, filename: str = "") -> str:
    """Return the media type of a file that begins so; never raises."""
    if head[:4] == b"RIFF":
        return _RIFF.get(head[8:12], OCTETS)
    for offset, magic, media_type in _MAGIC:
        if head.startswith(magic, offset) and not (
            magic in _SHORT and _is_text(head[:HEAD_BYTES])
        ):
            return media_type
    if head and _is_text(head[:HEAD_BYTES]):
        return _kind_of_text(head[:HEAD_BYTES], filename)
    return OCTETS


def shown_type(media_type: str | None) -> str:
    """Return as what a file is served: a picture, or bytes that nobody opens."""
    return media_type if media_type in SHOWN_TYPES else OCTETS


def _is_text(head: bytes) -> bool:
    if head.startswith(_MARKS):
        return True
    return not set(head) & _ODD_CONTROLS


def _kind_of_text(head: bytes, filename: str) -> str:
    start = head.removeprefix(codecs.BOM_UTF8).lstrip(_BLANK).lower()
    if start.startswith((b"<?xml", b"<!--", b"<svg")):
        if b"<svg" in start:
            return "image/svg+xml"
        if any(sign in start for sign in _HTML[:2]):
            return "text/html"
        return "application/xml" if start.startswith(b"<?xml") else "text/plain"
    if start.startswith(_HTML):
        return "text/html"
    return _OF_NAME.get(PurePosixPath(filename.lower()).suffix, "text/plain")
