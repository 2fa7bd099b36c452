"""The text of files, read by a child process within its bounds."""

import io
import random
import tempfile
import time
import zlib
from contextlib import suppress
from dataclasses import replace

import pytest
from PIL import Image

from shared.enrich.attachments import office_documents
from shared.enrich.attachments.extract_text import Extracted, ExtractionBounds, extract
from shared.enrich.attachments.file_type import sniff
from shared.errors import InvalidRequestError
from tests.support import attached

BOUNDS = ExtractionBounds(
    seconds=30,
    memory_mb=512,
    max_text_bytes=1_000_000,
    max_unpacked_bytes=104_857_600,
    max_members=1000,
    max_ratio=100,
)


def read(data: bytes, name: str = "", bounds: ExtractionBounds = BOUNDS) -> Extracted:
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.flush()
        return extract(file, sniff(data[:4096], name), bounds)


def refused(data: bytes, bounds: ExtractionBounds = BOUNDS) -> str:
    with pytest.raises(InvalidRequestError) as caught:
        read(data, bounds=bounds)
    assert caught.value.error_code == "unsafe_archive"
    return str(caught.value.details["reason"])


@pytest.mark.parametrize(
    ("data", "kind", "text"),
    [
        (
            attached.docx(),
            office_documents.DOCX,
            "Gun voltage sagged\ttwice\nBPM \tmm \t\nIPM4A07 \t2.1",
        ),
        (attached.xlsx(), office_documents.XLSX, "Magnet\tCurrent\nQF12\t81.5"),
        (
            attached.odt(),
            "application/vnd.oasis.opendocument.text",
            "Vacuum\nGauge VG-7 read\thigh\na \tb",
        ),
        (attached.pdf(), "application/pdf", "Kicker 3 misfired"),
        (b"<html><p>Arc 4 &amp; <b>BPM</b></p>", "text/html", "Arc 4 & BPM"),
        (attached.zipped({"a/x.txt": "1", "y": "2"}), "application/zip", "a/x.txt\ny"),
    ],
    ids=["docx", "xlsx", "odt", "pdf", "html", "zip"],
)
def test_a_document_becomes_the_text_that_people_typed(data, kind, text):
    found = read(data)

    assert (found.media_type, found.error) == (kind, None)
    assert found.text.startswith(text)


@pytest.mark.requirement("U25")
def test_a_value_stands_under_its_heading_where_cells_are_empty():
    rows = (
        '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1"><v>1</v></c></row>'
        '<row r="2"><c r="A2" t="s"><v>1</v></c><c r="C2"><v>120.5</v></c></row>'
        '<row r="3"><c r="XFD3"><v>7</v></c></row>'
    )
    first, second, far = read(attached.xlsx(rows)).text.split("\n")[:3]
    assert (first, second) == ("Magnet\t1", "QF12\t\t120.5")
    assert far.strip("\t") == "7"
    assert len(far) <= 200


FORMATS = (
    '<numFmts><numFmt numFmtId="164" formatCode="dd.mm.yyyy hh:mm;@"/>'
    '<numFmt numFmtId="165" formatCode="0.0&quot; days&quot;"/>'
    '<numFmt numFmtId="166" formatCode="[h]:mm"/></numFmts>'
    '<cellStyleXfs><xf numFmtId="14"/></cellStyleXfs>'
    '<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/>'
    '<xf numFmtId="165"/><xf numFmtId="166"/><xf numFmtId="20"/></cellXfs>'
)


@pytest.mark.requirement("U25")
@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        ('s="1"><v>45453</v>', "2024-06-10"),
        ('s="2"><v>45453.1756944444</v>', "2024-06-10 04:13"),
        ('s="5"><v>0.25</v>', "06:00"),
        ('s="5" t="n"><v>0.2500115741</v>', "06:00:01"),
        # No date: a plain number, one of days, hours counted, a text, a year too far.
        ('s="0"><v>45453</v>', "45453"),
        ('s="3"><v>45453</v>', "45453"),
        ('s="4"><v>1.5</v>', "1.5"),
        ('s="1" t="s"><v>1</v>', "QF12"),
        ('s="1" t="str"><v>soon</v>', "soon"),
        ('s="1"><v>9999999</v>', "9999999"),
        ('s="1"><v>2958465.9999999</v>', "2958465.9999999"),
        ('s="99"><v>45453</v>', "45453"),
    ],
)
def test_a_date_of_a_sheet_is_shown_as_one(cell, shown):
    rows = f'<row r="1"><c r="A1" {cell}</c></row>'
    assert read(attached.xlsx(rows, FORMATS)).text.strip() == shown


@pytest.mark.requirement("U25")
def test_a_workbook_may_count_its_days_from_1904():
    rows = '<row r="1"><c r="A1" s="1"><v>43991</v></c></row>'
    found = read(attached.xlsx(rows, FORMATS, '<workbookPr date1904="1"/>'))
    assert found.text.strip() == "2024-06-10"


def test_slides_come_in_the_order_of_their_numbers():
    lines = read(attached.pptx()).text.split()

    assert lines[1::2] == [str(number) for number in range(1, 12)]


def test_plain_text_is_decoded_and_cut_at_the_end_of_a_line():
    few = replace(BOUNDS, max_text_bytes=21)

    assert read("Löschen °C".encode("cp1252")).text == "Löschen °C"
    assert read("a\0b".encode("utf-16")).text == "a\ufffdb"
    assert read("Größe 1\nGröße 2\nGröße 3\n".encode(), bounds=few).text == (
        "Größe 1\nGröße 2"
    )


def test_a_picture_says_when_it_was_taken_and_what_it_shows():
    exif = Image.Exif()
    exif[0x0132] = "2024:06:10 04:13:25"
    exif[0x010E] = "Beam on screen 4"
    file = io.BytesIO()
    Image.new("RGB", (64, 48)).save(file, "JPEG", exif=exif)

    lines = read(file.getvalue()).text.splitlines()

    assert lines == ["JPEG 64 x 48", "2024:06:10 04:13:25", "Beam on screen 4"]


@pytest.mark.requirement("B14")
def test_a_picture_of_sixty_thousand_squared_is_not_unpacked():
    found = read(attached.png(60_000, 60_000))

    assert found.media_type == "image/png"
    assert found.error is not None
    assert found.error.reason == "extract_too_many_pixels"
    assert read(attached.png()).text == "PNG 640 x 480\nBeam on screen 4"


@pytest.mark.requirement("B12")
def test_a_bomb_is_stopped_at_its_bounds_and_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    padded = {"noise": random.Random(1).randbytes(1_200_000), "zeros": bytes(110 << 20)}

    assert refused(attached.zipped(padded)) == "too_large"
    assert refused(attached.bomb(50)) == "ratio"
    assert refused(attached.overlapping()) == "overlap"

    assert list(tmp_path.iterdir()) == []


@pytest.mark.requirement("B12")
def test_a_hundred_thousand_members_are_refused():
    assert refused(attached.many(100_000)) == "too_many_members"


@pytest.mark.requirement("B12")
def test_a_document_that_unpacks_to_too_much_is_refused_like_any_archive():
    part = b"<w:document>" + b"<w:p/>" * 1_000_000
    members = {"word/document.xml": part}

    assert refused(attached.zipped(members)) == "ratio"


def test_a_document_with_entities_is_not_read():
    laughs = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><x>&b;</x>'

    found = read(attached.zipped({"word/document.xml": laughs}))

    assert (found.media_type, found.text) == (office_documents.DOCX, "")
    assert found.error is not None
    assert found.error.reason == "extract_broken"


def test_a_file_that_takes_too_long_costs_its_child_alone():
    part = b"<x><t>begun</t>" + b"<y/>" * 15_000_000 + b"</x>"
    data = attached.zipped({"word/document.xml": part}, method=0)
    started = time.monotonic()

    found = read(data, bounds=replace(BOUNDS, seconds=5))

    assert time.monotonic() - started < 15
    assert found.media_type == office_documents.DOCX
    assert found.error is not None
    assert found.error.reason == "extract_killed"


def test_a_stream_that_asks_for_more_memory_than_there_is_costs_its_child_alone():
    bomb = attached.pdf(packed=zlib.compress(bytes(400_000_000), 9))

    found = read(bomb, bounds=replace(BOUNDS, memory_mb=256))

    assert (found.media_type, found.text) == ("application/pdf", "")
    assert found.error is not None
    assert found.error.reason == "extract_killed"


def test_a_word_that_a_line_of_a_pdf_cuts_is_one_word_and_a_device_keeps_its_hyphen():
    found = read(attached.pdf("The kicker mis-", "fired, and so did HCM-", "03."))

    assert found.text == "The kicker misfired, and so did HCM-03."


@pytest.mark.parametrize("cut", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("make", ["docx", "xlsx", "pdf", "png", "odt"])
def test_a_file_that_was_cut_off_is_an_error_of_its_own(make, cut):
    whole = getattr(attached, make)()
    with suppress(InvalidRequestError):
        found = read(whole[: int(len(whole) * cut)])
        assert found.error is None or (found.error.reason or "").startswith("extract_")
