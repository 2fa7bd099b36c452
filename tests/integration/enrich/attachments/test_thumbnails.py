"""Small pictures of attached ones: made by the child, kept, served inert."""

import io
import random
import tempfile
from dataclasses import replace

import httpx2
import pytest
from PIL import Image
from pydantic import ValidationError

from shared.enrich.attachments.extract_text import Extracted, ExtractionBounds, extract
from shared.enrich.attachments.file_type import sniff
from shared.settings.sections import AttachmentSettings
from tests.support import attached

BOUNDS = ExtractionBounds(
    seconds=30,
    memory_mb=512,
    max_text_bytes=1_000_000,
    max_unpacked_bytes=104_857_600,
    max_members=1000,
    max_ratio=100,
    thumbnail_pixels=320,
)
RED, WHITE = (255, 0, 0), (255, 255, 255)
_ORIENTATION, _GPS = 0x0112, 0x8825


def written(picture: Image.Image, kind: str = "PNG", **options) -> bytes:
    file = io.BytesIO()
    picture.save(file, kind, **options)
    return file.getvalue()


def read(data: bytes, bounds: ExtractionBounds = BOUNDS) -> Extracted:
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.flush()
        return extract(file, sniff(data[:4096]), bounds)


def thumbnail(data: bytes, bounds: ExtractionBounds = BOUNDS) -> Image.Image:
    found = read(data, bounds)
    assert found.thumbnail is not None
    made = Image.open(io.BytesIO(found.thumbnail))
    assert made.format == "JPEG"
    return made


def is_like(found: object, wanted: tuple[int, int, int]) -> bool:
    assert isinstance(found, tuple)
    return all(abs(a - b) < 8 for a, b in zip(found, wanted, strict=True))


def test_a_picture_is_made_small_as_it_is_looked_at_and_without_where_it_was_taken():
    picture = Image.new("RGB", (1000, 500), WHITE)
    picture.paste(RED, (0, 0, 500, 500))
    exif = Image.Exif()
    # Its upper side is on the right: the camera was held upright.
    exif[_ORIENTATION] = 6
    exif.get_ifd(_GPS)[1] = "N"

    made = thumbnail(written(picture, "JPEG", exif=exif))

    assert made.size == (160, 320)
    assert is_like(made.getpixel((80, 20)), RED)
    assert is_like(made.getpixel((80, 300)), WHITE)
    assert not made.getexif()


@pytest.mark.parametrize(
    ("mode", "kind"),
    [
        *((mode, "PNG") for mode in ("1", "L", "LA", "P", "RGBA", "I;16")),
        *((mode, "TIFF") for mode in ("F", "I", "CMYK")),
        *(("RGB", kind) for kind in ("GIF", "WEBP", "BMP", "JPEG")),
    ],
)
def test_every_kind_of_picture_has_a_small_one(mode, kind):
    found = read(written(Image.new(mode, (900, 300)), kind))

    assert found.text == f"{kind} 900 x 300"
    assert found.thumbnail is not None
    assert Image.open(io.BytesIO(found.thumbnail)).size == (320, 107)


def test_what_lets_paper_through_is_white_and_a_dim_camera_is_seen():
    clear = Image.new("RGBA", (40, 40), (255, 0, 0, 0))
    dim = Image.new("I;16", (40, 40), 100)
    dim.paste(140, (0, 0, 20, 40))

    assert is_like(thumbnail(written(clear)).getpixel((20, 20)), WHITE)
    made = thumbnail(written(dim))
    assert is_like(made.getpixel((5, 20)), WHITE)
    assert is_like(made.getpixel((35, 20)), (0, 0, 0))


def test_what_cannot_be_unpacked_keeps_its_text_and_has_no_small_picture():
    cut = written(Image.effect_noise((640, 480), 50))[:5000]
    too_many = attached.png(10_000, 8000)
    large = written(Image.new("RGB", (6000, 6000)))

    for data, bounds, text in (
        (cut, BOUNDS, "PNG 640 x 480"),
        (too_many, BOUNDS, "PNG 10000 x 8000\nBeam on screen 4"),
        (large, replace(BOUNDS, memory_mb=128), "PNG 6000 x 6000"),
        (b"<html><p>Arc 4</p>", BOUNDS, "Arc 4"),
    ):
        found = read(data, bounds)
        assert (found.text, found.error, found.thumbnail) == (text, None, None)
    assert thumbnail(large).size == (320, 320)


def test_its_size_is_a_setting_up_to_a_limit():
    noise = written(Image.frombytes("RGB", (600, 600), _noise(600 * 600 * 3)))
    most = replace(BOUNDS, thumbnail_pixels=512)

    assert thumbnail(noise, most).size == (512, 512)
    assert read(noise, replace(BOUNDS, thumbnail_pixels=0)).thumbnail is None
    assert AttachmentSettings(thumbnail_pixels=512).thumbnail_pixels == 512
    with pytest.raises(ValidationError):
        AttachmentSettings(thumbnail_pixels=513)


def _noise(size: int) -> bytes:
    return random.Random(1).randbytes(size)


@pytest.fixture
def entry(caller) -> str:
    answer = caller.post("/v1/entries", json={"text": "see file"})
    return answer.json()["entry_id"]


def send(client: httpx2.Client, entry: str, data: bytes, name: str) -> dict:
    sent = client.post(
        f"/v1/entries/{entry}/attachments", files={"file": (name, io.BytesIO(data))}
    )
    assert sent.status_code == 201, sent.text
    body = sent.json()
    assert isinstance(body, dict)
    return body


def test_an_attached_picture_says_where_its_small_one_is(caller, entry):
    data = written(Image.new("RGB", (1000, 500), RED))
    picture = send(caller, entry, data, "screen.png")
    text = send(caller, entry, b"log", "log.txt")

    address = f"/v1/attachments/{picture['attachment_id']}/thumbnail"
    assert (picture["thumbnail"], text["thumbnail"]) == (address, None)
    shown = caller.get(f"/v1/entries/{entry}").json()["attachments"]
    assert [one["thumbnail"] for one in shown] == [address, None]
    given = caller.get(address)
    assert given.headers["content-type"] == "image/jpeg"
    assert given.headers["content-disposition"].startswith("attachment; filename=")
    assert given.headers["x-content-type-options"] == "nosniff"
    assert given.headers["content-security-policy"] == "sandbox"
    assert Image.open(io.BytesIO(given.content)).size == (320, 160)
    missing = caller.get(f"/v1/attachments/{text['attachment_id']}/thumbnail")
    assert missing.status_code == 404


def test_a_text_s_own_pictures_are_named_with_the_files_that_they_are(caller):
    text = '<p>Lost at <img src="screen.png?w=90"> and <img src="data:image/png,x">'
    body = {"text": text, "text_format": "html"}
    entry = caller.post("/v1/entries", json=body).json()["entry_id"]
    data = written(Image.new("RGB", (8, 8), RED))
    sent = send(caller, entry, data, "screen.png")
    send(caller, entry, data, "other.png")

    listed = caller.get(f"/v1/entries/{entry}/attachments").json()

    known = {"src": "screen.png?w=90", "attachment_id": sent["attachment_id"]}
    assert listed["inline"] == [known]


@pytest.mark.requirement("SEC2")
def test_a_small_picture_is_as_closed_as_its_entry_and_goes_with_it(
    api, caller, entry, tenant
):
    data = written(Image.new("RGB", (64, 64), RED))
    address = send(caller, entry, data, "screen.png")["thumbnail"]
    assert caller.get(address).status_code == 200

    with api.client(api.key(tenant=f"{tenant}-other")) as stranger:
        assert stranger.get(address).status_code == 404
    other = caller.post("/v1/entries", json={"text": "see file"}).json()["entry_id"]
    gone = send(caller, other, data, "screen.png")["thumbnail"]
    closed = {"text": "see file", "readers": ["somebody"]}
    assert caller.put(f"/v1/entries/{entry}", json=closed).is_success
    assert caller.get(address).status_code == 404
    assert caller.delete(f"/v1/entries/{other}").is_success
    assert caller.get(gone).status_code == 410
