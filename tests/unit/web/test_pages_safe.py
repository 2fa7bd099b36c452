"""What a page makes of texts of others, and of places that it is told to lead to."""

from typing import get_args

import pytest

from api.web.page_route import place_of_ours
from api.web.rendering import file_of
from api.web.routes.assets import Asset
from api.web.template_filters import marks, short


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("a <b>valve</b> &lt;i&gt;", "a <mark>valve</mark> &lt;i&gt;"),
        ("<script>x</script>", "&lt;script&gt;x&lt;/script&gt;"),
        ("&amp;lt;b&amp;gt;", "&amp;lt;b&amp;gt;"),
    ],
)
def test_of_a_marked_part_no_tag_lives_but_the_mark(given: str, shown: str) -> None:
    assert str(marks(given)) == shown


def test_a_text_is_cut_behind_a_word() -> None:
    assert short("one two three", 9) == "one two …"


@pytest.mark.parametrize(
    "place", ["//evil.example", "/\\evil.example", "https://evil.example", "", "/a\nb"]
)
def test_nobody_is_led_elsewhere(place: str) -> None:
    assert place_of_ours(place) == "/"


def test_the_script_is_one_module_of_300_lines_at_most() -> None:
    (script,) = [name for name in get_args(Asset) if name.endswith(".js")]

    assert file_of(script).count(b"\n") <= 300


def test_a_place_here_is_kept() -> None:
    assert place_of_ours("/search?q=a") == "/search?q=a"
