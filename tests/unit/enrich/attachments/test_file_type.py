"""What a file is by its bytes, whatever it is called."""

import pytest

from shared.enrich.attachments.file_type import OCTETS, shown_type, sniff

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"


@pytest.mark.parametrize(
    ("head", "name", "expected"),
    [
        (PNG, "a.txt", "image/png"),
        (b"\xff\xd8\xff\xe0\0\x10JFIF", "a", "image/jpeg"),
        (b"GIF89a\1\0\1\0", "a", "image/gif"),
        (b"RIFF\x24\0\0\0WEBPVP8 ", "a", "image/webp"),
        (b"RIFF\x24\0\0\0WAVEfmt ", "a", "audio/wav"),
        (b"%PDF-1.7\n", "a.docx", "application/pdf"),
        (b"PK\3\4\x14\0", "a.docx", "application/zip"),
        (b"\x1f\x8b\x08\0", "a.txt", "application/gzip"),
        (b"\0" * 257 + b"ustar\0", "a", "application/x-tar"),
        (b"", "a.png", OCTETS),
        (b"\0\1\2\3", "a.png", OCTETS),
        (b"BM of storage ring: 3 mm", "a.txt", "text/plain"),
        (b"BM\x36\0\x0c\0\0\0", "a", "image/bmp"),
        (b"name,mm\nBPM1,2\n", "orbit.csv", "text/csv"),
        (b"name,mm\nBPM1,2\n", "orbit", "text/plain"),
        (b'{"a": 1}', "x.json", "application/json"),
        ("Löschen".encode("utf-16"), "a.txt", "text/plain"),
        ("Öffnen °C".encode("cp1252"), "a.txt", "text/plain"),
        (b"<?xml version='1.0'?><log/>", "a", "application/xml"),
    ],
)
def test_a_file_is_what_it_begins_with(head, name, expected):
    assert sniff(head, name) == expected


@pytest.mark.requirement("B14")
@pytest.mark.parametrize(
    ("head", "name", "expected"),
    [
        (b"<!DOCTYPE html><script>alert(1)</script>", "a.png", "text/html"),
        (b" \n\xef\xbb\xbf<HTML>", "a.png", "text/plain"),
        (b"\xef\xbb\xbf \n<HTML>", "a.png", "text/html"),
        (b"<script>alert(1)</script>", "a.gif", "text/html"),
        (b"<svg onload='x'>", "a.png", "image/svg+xml"),
        (b"<?xml version='1.0'?>\n<!-- x --><svg>", "a.png", "image/svg+xml"),
        (b"GIF89a/*<script>alert(1)</script>*/", "a.html", "image/gif"),
        (b"%PDF-1.4 PK\3\4", "a.zip", "application/pdf"),
        (b"X5O!P%@AP[4", "a.png", "text/plain"),
        (b"MZ\x90\0\3\0", "a.png", "application/vnd.microsoft.portable-executable"),
    ],
)
def test_a_file_that_lies_is_served_as_a_picture_only_where_it_is_one(
    head, name, expected
):
    found = sniff(head, name)

    assert found == expected
    assert shown_type(found) in {OCTETS, "image/gif"}


@pytest.mark.parametrize(
    "kind", ["text/html", "image/svg+xml", "text/plain", "application/pdf", None]
)
def test_nothing_but_four_kinds_of_pictures_is_named_to_a_browser(kind):
    assert shown_type(kind) == OCTETS
    assert shown_type("image/png") == "image/png"
