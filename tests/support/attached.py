"""Files as people attach them, and as nobody should: made here, small on disk."""

import io
import struct
import zipfile
import zlib
from collections.abc import Mapping
from typing import Any

import httpx2
from PIL import Image

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
S = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
A = "http://schemas.openxmlformats.org/drawingml/2006/main"
TEXT = "urn:oasis:names:tc:opendocument:xmlns:text:1.0"
TABLE = "urn:oasis:names:tc:opendocument:xmlns:table:1.0"
EICAR = rb"X5O!P%@AP[4\PZX54(P^)7CC)7}$EICAR-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*"


def zipped(
    members: Mapping[str, str | bytes], method: int = zipfile.ZIP_DEFLATED
) -> bytes:
    """Return an archive of these members."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, content in members.items():
            # Without a time: the same members are the same bytes.
            archive.writestr(zipfile.ZipInfo(name), content, method)
    return file.getvalue()


def docx(paragraph: str = "Gun voltage sagged") -> bytes:
    """Return a Word document with a paragraph and a table of two rows."""
    cells = "".join(
        f"<w:tr><w:tc><w:p><w:r><w:t>{a}</w:t></w:r></w:p></w:tc>"
        f"<w:tc><w:p><w:r><w:t>{b}</w:t></w:r></w:p></w:tc></w:tr>"
        for a, b in (("BPM", "mm"), ("IPM4A07", "2.1"))
    )
    body = (
        f"<w:p><w:pPr><w:tabs><w:tab/></w:tabs></w:pPr>"
        f"<w:r><w:t>{paragraph}</w:t><w:tab/><w:t>twice</w:t></w:r></w:p>"
        f"<w:tbl>{cells}</w:tbl>"
    )
    part = f'<w:document xmlns:w="{W}"><w:body>{body}</w:body></w:document>'
    return zipped({"[Content_Types].xml": "<Types/>", "word/document.xml": part})


_ROWS = (
    '<row><c t="s"><v>0</v></c><c t="inlineStr"><is><t>Current</t></is></c></row>'
    '<row><c t="s"><v>1</v></c><c><v>81.5</v></c><c t="s"><v>99</v></c></row>'
)


def xlsx(rows: str = _ROWS, styles: str = "", workbook: str = "") -> bytes:
    """Return a workbook with shared, inline and plain values."""
    strings = (
        f'<sst xmlns="{S}"><si><t>Magnet</t><rPh><t>maguneto</t></rPh></si>'
        f"<si><r><t>QF</t></r><r><t>12</t></r></si></sst>"
    )
    sheet = f'<worksheet xmlns="{S}"><sheetData>{rows}</sheetData></worksheet>'
    return zipped(
        {
            "xl/workbook.xml": f'<workbook xmlns="{S}">{workbook}</workbook>',
            "xl/styles.xml": f'<styleSheet xmlns="{S}">{styles}</styleSheet>',
            "xl/sharedStrings.xml": strings,
            "xl/worksheets/sheet1.xml": sheet,
        }
    )


def pptx() -> bytes:
    """Return eleven slides, whose names do not sort as they are numbered."""
    members: dict[str, str | bytes] = {"ppt/presentation.xml": "<p/>"}
    for number in range(1, 12):
        run = f"<a:r><a:t>Slide {number}</a:t></a:r>"
        slide = f'<p xmlns:a="{A}"><a:p>{run}</a:p></p>'
        members[f"ppt/slides/slide{number}.xml"] = slide
    return zipped(members)


def odt() -> bytes:
    """Return an OpenDocument text with a heading, a span and a table."""
    body = (
        "<text:h>Vacuum</text:h><text:p>Gauge <text:span>VG-7</text:span>"
        "<text:s/>read<text:tab/>high</text:p><table:table><table:table-row>"
        "<table:table-cell><text:p>a</text:p></table:table-cell>"
        "<table:table-cell><text:p>b</text:p></table:table-cell>"
        "</table:table-row></table:table>"
    )
    content = f'<o xmlns:text="{TEXT}" xmlns:table="{TABLE}">{body}</o>'
    kind = "application/vnd.oasis.opendocument.text"
    return zipped({"mimetype": kind, "content.xml": content})


def pdf(*lines: str, packed: bytes = b"") -> bytes:
    """Return one page with these lines, or what is packed; offsets by hand."""
    shown = " 0 -14 Td ".join(f"({one}) Tj" for one in lines or ["Kicker 3 misfired"])
    drawn = packed or f"BT /F1 12 Tf 72 720 Td {shown} ET".encode()
    how = b"/Filter /FlateDecode" if packed else b""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R %s >>"
        % b"/Resources << /Font << /F1 5 0 R >> >>",
        b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(drawn), how, drawn),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    out, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    head = b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    end = b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n"
    return out + head + table + end % (len(objects) + 1, len(out))


def png(width: int = 640, height: int = 480) -> bytes:
    """Return a picture's header of any size, with next to nothing behind it."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        checked = kind + data
        return (
            struct.pack(">I", len(data))
            + checked
            + struct.pack(">I", zlib.crc32(checked))
        )

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"tEXt", b"Description\0Beam on screen 4")
        + chunk(b"IDAT", zlib.compress(b"\0"))
        + chunk(b"IEND", b"")
    )


def screen() -> bytes:
    """Return a picture that is whole: black, and wider than it is high."""
    file = io.BytesIO()
    Image.new("RGB", (80, 60)).save(file, "PNG")
    return file.getvalue()


def attach_picture(
    client: httpx2.Client, entry: Mapping[str, Any], name: str, colour: str = "teal"
) -> None:
    """Attach a picture of one colour to an entry."""
    file = io.BytesIO()
    Image.new("RGB", (320, 240), colour).save(file, "PNG")
    sent = client.post(
        f"/v1/entries/{entry['entry_id']}/attachments",
        files={"file": (name, file.getvalue(), "image/png")},
    )
    assert sent.status_code == 201, sent.text


def bomb(megabytes: int) -> bytes:
    """Return an archive that unpacks to a thousand times its size."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block, checksum, packed = bytes(1_048_576), 0, b""
    for _ in range(megabytes):
        checksum = zlib.crc32(block, checksum)
        packed += packer.compress(block)
    packed += packer.flush()
    size = megabytes * len(block)
    return one_member(b"zeros.txt", packed, size, checksum, method=8)


def one_member(
    name: bytes,
    packed: bytes,
    size: int,
    checksum: int = 0,
    *,
    method: int = 0,
    mode: int = 0,
    flags: int = 0x800,
) -> bytes:
    """Return an archive of one member whose words are all ours, true or not."""
    fields = (flags, method, 0, 0x21, checksum, len(packed), size, len(name), 0)
    local = struct.pack("<4sHHHHHIIIHH", b"PK\3\4", 20, *fields) + name
    central = struct.pack(
        "<4sHHHHHHIIIHHHHHII", *(b"PK\1\2", 0x0314, 20, *fields, 0, 0, 0, mode << 16, 0)
    )
    start = len(local) + len(packed)
    end = struct.pack(
        "<4sHHHHIIH", b"PK\5\6", 0, 0, 1, 1, len(central) + len(name), start, 0
    )
    return local + packed + central + name + end


def overlapping(members: int = 100) -> bytes:
    """Return an archive whose members are all the same bytes."""
    one = zipped({"a": bytes(200_000)})
    place = one.index(b"PK\1\2")
    record, end = one[place : one.index(b"PK\5\6")], one[-22:]
    listed = b"".join(
        record[:46] + bytes([65 + number % 26]) for number in range(members)
    )
    closing = end[:8] + struct.pack("<HHIIH", members, members, len(listed), place, 0)
    return one[:place] + listed + closing


def many(members: int) -> bytes:
    """Return an archive with a list of so many members."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for number in range(members):
            archive.writestr(str(number), b"")
    return file.getvalue()
