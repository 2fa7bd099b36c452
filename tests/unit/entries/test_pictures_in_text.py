"""Pictures that a text shows, and which attached file each of them is."""

from uuid import UUID

import pytest

from shared.entries.reading import inline_images
from shared.entries.saving.attachment_rows import Attached
from shared.text.markup import pictures
from tests.support.linear_cost import assert_linear


def attached(
    number: int,
    filename: str,
    *,
    url: str | None = None,
    external_id: str | None = None,
) -> Attached:
    return Attached(
        id=UUID(int=number),
        entry_id=UUID(int=0),
        external_id=external_id or filename,
        position=number,
        filename=filename,
        url=url,
        declared_type=None,
        declared_bytes=None,
        caption=None,
        thumbnail_url=None,
        state="stored",
        error=None,
        media_type="image/png",
        size=1,
        sha256=None,
        text_extracted=False,
        has_thumbnail=True,
    )


def shown(address: str, *files: Attached) -> int | None:
    text = f'<p>see <img src="{address}"></p>'
    found = inline_images.find_inline_images(text, "html", files)
    return found[0].attachment_id.int if found else None


@pytest.mark.parametrize(
    ("text_format", "text", "expected"),
    [
        (
            "html",
            '<p>a <IMG alt=x src="a.png?w=1&amp;h=2"> <img src=b.png><img src="a.png">',
            ["a.png?w=1&h=2", "b.png", "a.png"],
        ),
        ("html", '<img src="a.png"><img src="a.png"><img><b>x</b>', ["a.png"]),
        ("html", '<img src="data:image/png;base64,AAAA">', []),
        ("html", '<script><img src="a.png"></script>', []),
        (
            "elcode",
            "[img width=300]231004_101500/shot.png?thumb=1[/img] [img]b.png[/img]",
            ["231004_101500/shot.png?thumb=1", "b.png"],
        ),
        (
            "markdown",
            '![scope](attachment/66671c) ![](<b.png> "B") [c](c.png) <img src=d.png>',
            ["attachment/66671c", "b.png", "d.png"],
        ),
        ("textile", "Trip!! !a.png(scope)! and !>b.png!:c ! no !", ["a.png", "b.png"]),
        ("plain", '<img src="a.png"> ![](b.png)', []),
    ],
)
def test_a_text_names_its_pictures_once_each_in_its_order(text_format, text, expected):
    assert pictures.addresses(text, text_format) == expected


@pytest.mark.parametrize("text_format", ["html", "elcode", "markdown", "textile"])
@pytest.mark.parametrize(
    "piece", ["<img ", "[img", "![", "!", "![a](", "!a", "[img]a", '<img src="a']
)
def test_pictures_are_read_in_one_pass(text_format, piece):
    def read(text: str) -> None:
        found = pictures.addresses(text, text_format)
        assert len(found) <= pictures.MOST_PICTURES

    assert_linear(read, piece * (400_000 // len(piece)))


def test_a_picture_is_the_file_at_its_address_whatever_its_size():
    base = "https://elog.test/Operations"
    files = [
        attached(number, "shot.png", url=f"{base}/{taken}/shot.png", external_id=taken)
        for number, taken in enumerate(("231004_101500", "231004_101733"), 1)
    ]

    assert shown("231004_101733/shot.png?thumb=1", *files) == 2
    assert shown("../Operations/231004_101500/shot.png", *files) == 1
    assert shown(f"{base}/231004_101733/shot.png", *files) == 2
    assert shown("https://ELOG.test/Operations/231004_101500/shot.png", *files) == 1
    # Two have that name, and neither is meant more than the other.
    assert shown("shot.png", *files) is None


def test_a_picture_is_the_file_that_its_source_calls_so():
    elog = attached(1, "shot.png", external_id="Operations/231004_101500_shot.png")
    olog = attached(2, "trip.png", external_id="66671c")

    assert shown("231004_101500/shot.png?thumb=1", elog, olog) == 1
    assert shown("231004_101733/shot.png", olog) is None
    assert shown("attachment/66671c", elog, olog) == 2


def test_a_name_is_enough_here_and_never_elsewhere():
    file = attached(1, "beam profile.png", url="https://elog.test/f/77")

    assert shown("beam%20profile.png", file) == 1
    assert shown("./beam%20profile.png#x", file) == 1
    assert shown(" beam\n profile.png", file) == 1
    assert shown("https://other.test/beam%20profile.png", file) is None
    assert shown("https://elog.test/g/77", file) is None


@pytest.mark.parametrize("address", ["", "/", "http://[", "cid:1", "javascript:a.png"])
def test_an_address_that_leads_to_no_file_is_none(address):
    assert shown(address, attached(1, "a.png", url="https://elog.test/")) is None
