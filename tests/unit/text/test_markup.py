"""Marked-up text becomes text to be read, whatever is wrong with its marks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.text.plain_text import to_plain
from tests.support.linear_cost import assert_linear

FORMATS = ("html", "markdown", "elcode", "textile")


@pytest.mark.parametrize(
    "text",
    [
        "<b>a</b> [b]x[/b] **y** &amp;lt; h1. z",
        "  blanks\t and\r\nline ends \n\n\n",
        "\x00\ud800",
    ],
)
def test_a_plain_body_is_left_alone_whatever_it_looks_like(text: str) -> None:
    assert to_plain(text, "plain") == text
    assert to_plain(text, "unknown") == text


_pieces = st.lists(
    st.sampled_from(
        [
            *("<p>", "</p>", "<b>", "<a href='x'>", '<a href="', "</a>", "<!--", "-->"),
            *("<pre>", "</pre>", "<table>", "<tr>", "<td>", "</table>", "<ul>", "<li>"),
            *("<script>", "</script", "<![CDATA[", "]]>", "&amp;", "&#x41;"),
            *("&#99", "<"),
            *("[b]", "[/b]", "[list]", "[*]", "[/list]", "[code]", "[/code]"),
            "[table]",
            *("|-", "|", "[url=x]", "[/url]", "[quote]", "[img]", "[/img]", "[", "]"),
            *("**", "*", "_", "`", "```", "\n", "# ", "- ", "![a](b)", "[a][b]"),
            *("\n[b]: http://x.org/a\n", "-->", "[a](", ")", "---"),
            *("h1. ", "* ", "bc. ", '"x":y', "!x!", "@", ">", "\\", " ", "text"),
            *("\t", "é"),
        ]
    )
    | st.text(max_size=5),
    max_size=40,
).map("".join)


@given(_pieces | st.text(), st.sampled_from(FORMATS))
def test_any_text_can_be_read(text: str, text_format: str) -> None:
    plain = to_plain(text, text_format)
    assert len(plain) <= 4 * len(text) + 100
    assert not plain.startswith("\n")
    assert not plain.endswith("\n")


@given(st.from_regex(r"\A[A-Za-z0-9,.: ]{1,200}\Z"))
def test_text_without_marks_is_the_same_in_every_format(text: str) -> None:
    words = " ".join(text.split())
    assert {to_plain(words, one) for one in ("html", "elcode")} == {words}
    assert to_plain(f"x {words}", "markdown") == to_plain(f"x {words}", "textile")


@given(
    st.lists(st.sampled_from(["<p>", "RF", " ", "<b>", "&lt;", "</p>", "\n", "<td>"]))
)
def test_what_has_been_read_once_reads_the_same_again_unless_it_shows_marks(pieces):
    plain = to_plain("".join(pieces), "html")
    assert to_plain(to_plain(plain, "plain"), "plain") == plain
    if "<" not in plain:
        assert to_plain(plain, "html").split() == plain.split()


@pytest.mark.requirement("B19")
@pytest.mark.parametrize("text_format", FORMATS)
@pytest.mark.parametrize(
    "text",
    [
        *("a" * 50_000 + "!", "<!--" + "a" * 50_000, "<" * 50_000, "[" * 50_000),
        *("'\"" * 25_000, "<a b=\"'" * 7_000, "*" * 50_000, "* " * 25_000),
        *("`" * 50_000, "` `` " * 10_000, "](" * 25_000, "[](" * 16_000),
        *("_a" * 25_000, "|" * 50_000, "|-" * 25_000, "\n" * 50_000, " " * 50_000),
        *(
            "h1(" * 16_000,
            '"a":' * 12_000,
            "!a(" * 16_000,
            "&#" * 25_000,
            "\\" * 50_000,
        ),
        *("[code]" * 8_000, "[img]" * 10_000, "[anchor]" * 6_000, "<p " * 16_000),
        *("<!--" * 12_000, "<sr-c03>" * 6_000, "[a][b]" * 8_000, "\n<!--" * 9_000),
    ],
    ids=lambda text: text[:8].encode("unicode_escape").decode(),
)
def test_a_hostile_text_costs_little(text: str, text_format: str) -> None:
    assert_linear(lambda part: to_plain(part, text_format), text)
