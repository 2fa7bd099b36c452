"""A page of HTML reads as a person would have typed it."""

import pytest

from shared.text.plain_text import to_plain
from tests.support.linear_cost import assert_linear


def read(html: str) -> str:
    return to_plain(html, "html")


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("", ""),
        ("<p>IPM4A07 reads <b>2 mm</b> off</p>", "IPM4A07 reads 2 mm off"),
        ("<p>HV back at 09:10</p><p>ok</p>", "HV back at 09:10\n\nok"),
        ("one<br>two<br/>three<BR />four", "one\ntwo\nthree\nfour"),
        ("one<br><br><br><br>two", "one\n\ntwo"),
        ("<div>a</div><div><div>b</div></div>c", "a\nb\nc"),
        ("  a \n\t b&nbsp;c  ", "a b c"),
        ("<h2>Title</h2>text<hr>end", "Title\n\ntext\n---\nend"),
        # Marks of looks stand within words.
        ("H<sub>2</sub>O <font color='red'>T</font>rip", "H2O Trip"),
        # Powers are not differences.
        (
            "10<sup>-6</sup> mbar, 3 m<sup>2</sup>, 1<sup>st</sup>",
            "10^-6 mbar, 3 m^2, 1st",
        ),
        # Entities are decoded once.
        (
            "&lt;b&gt; &amp;lt; &amp;amp; &euro; &#956;m &#x3bc;",
            "<b> &lt; &amp; € μm μ",
        ),
        (
            "AT&T &unknown; &#0; &#xD800; &#99999999999;",
            "AT&T &unknown; \ufffd \ufffd &#99999999999;",
        ),
        ("soft&shy;ly", "softly"),
        # What is not for people.
        ("<title>t</title><style>p{}</style><script>a<b</script>x<!-- c -->y", "xy"),
        ("<?xml version='1.0'?><!DOCTYPE html><html><body>x</body></html>", "x"),
        ("<![CDATA[a < b]]>!", "a < b!"),
        ("<o:p>&nbsp;</o:p>word<custom-x>s</custom-x>", "words"),
        ("<v:shape id='a'><w:wrap type='none'/>x</v:shape>", "x"),
        ("a<script>never closed <p>b", "a"),
        # What nobody closes is a name in brackets, whatever is in it.
        ("<p>set <BEAM_CURRENT> of <SR-C03> and <SR:C03>", None),
        ("see <FOO> and <sr-c03 off>", None),
    ],
)
def test_a_page_becomes_its_text(html: str, text: str | None) -> None:
    assert read(html) == (html.removeprefix("<p>") if text is None else text)


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<ul><li>One</li><li>Two</li></ul>", "- One\n- Two"),
        ("<ol><li>One<li>Two</ol>", "1. One\n2. Two"),
        ('<ol start="4"><li>a<li value="9">b<li>c</ol>', "4. a\n9. b\n10. c"),
        ("<ul><li>a<ol><li>b</li></ol></li><li>c</ul>", "- a\n  1. b\n- c"),
        ("<ul><li><p>a</p></li><li><p>b</p></li></ul>", "- a\n\n- b"),
        ("<li>loose<li> <li>end", "- loose\n- end"),
        ("<dl><dt>PV</dt><dd>SR-RF:C3</dd></dl>", "PV\nSR-RF:C3"),
        ("x<blockquote>a<br>b</blockquote>y", "x\n\n> a\n> b\n\ny"),
    ],
)
def test_lists_and_quotations_keep_their_shape(html: str, text: str) -> None:
    assert read(html) == text


@pytest.mark.parametrize(
    ("html", "text"),
    [
        (
            "<table><tr><th>PV<th>kV</tr><tbody><tr><td>C3</td><td>5<br>ok</table>after",
            "PV | kV\nC3 | 5 ok\nafter",
        ),
        # Whoever writes by hand closes nothing.
        ("<table><tr><td>a<td>b<tr><td><td>d</table>", "a | b\n | d"),
        ("<table><tr><td></td></tr></table>x", "x"),
        # A table that lays out a page is none.
        ("<table><tr><td><p>a</p><p>b</p></td></tr></table>", "a\n\nb"),
        (
            "<table><tr><td>a<br>b<br>c<br>d<br>e</td><td>f</td></tr></table>",
            "a\nb\nc\nd\ne\nf",
        ),
        (
            "<table><tr><td><table><tr><td>a</td><td>b</td></tr></table></td></tr></table>",
            "a | b",
        ),
        ("<td>no<td>table</table>", "no table"),
    ],
)
def test_a_table_keeps_its_rows(html: str, text: str) -> None:
    assert read(html) == text


@pytest.mark.parametrize(
    ("html", "text"),
    [
        (
            '<a href="http://x.org/a?b=1&amp;c=2&copy=3">the note</a>.',
            "the note (http://x.org/a?b=1&c=2&copy=3).",
        ),
        (
            "<a href=http://x.org/>x.org</a>, <a href='http://x.org'>http://x.org/</a>",
            "x.org, http://x.org/",
        ),
        ('<a href="mailto:a@b.ch">a@b.ch</a>', "a@b.ch"),
        ('<a href="elog:12">plot</a>', "plot (elog:12)"),
        (
            '<a href="#top">up</a> <a href="javascript:x()">do</a> <a name=x>y</a>',
            "up do y",
        ),
        ('<a href="http://x.org"> </a>', "http://x.org"),
        ('<a href="http://x.org"><b>bold </b></a>next', "bold (http://x.org)next"),
        ('<a href="a">one<a href="b">two', "one (a)two (b)"),
    ],
)
def test_a_link_says_where_it_leads(html: str, text: str) -> None:
    assert read(html) == text


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ('<img src="231004_101500/shot.png?thumb=1">', "[image: shot.png]"),
        ('<img alt="Beam &amp; loss" src="x.png">', "[image: Beam & loss]"),
        ('<img src="data:image/png;base64,AAAA">', "[image]"),
        ('<img alt="trip" src="data:image/png;base64,AAAA">', "[image: trip]"),
        ('<img src="http://[bad/a%20b.png">', "[image: a b.png]"),
        ('<a href="big.png"><img src="small.png"></a>', "[image: small.png] (big.png)"),
        ('<video src="a/b.mp4"></video><iframe></iframe>', "[video: b.mp4]"),
    ],
)
def test_a_picture_leaves_its_name(html: str, text: str) -> None:
    assert read(html) == text


def test_code_is_kept_as_it_was_typed() -> None:
    html = "run:<pre>\nif x &lt; 3:\n\n\n    <b>go</b>  on\n</pre>then <code>a_b</code>"
    assert read(html) == "run:\n\nif x < 3:\n\n\n    go  on\n\nthen a_b"


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("3 < 5 and 7 > 6", "3 < 5 and 7 > 6"),
        ("a <- b, x<y", "a <- b, x<y"),
        ("set <HCM03> to </HCM03> <5", "set <HCM03> to </HCM03> <5"),
        (
            "From: A <a.b@c.ch>, <http://x.org/y>",
            "From: A <a.b@c.ch>, <http://x.org/y>",
        ),
        ("<p>cut in the <b", "cut in the <b"),
        ("</p></table></ul></a>x</pre>", "x"),
        (
            "before<!-- nobody closes this <b>comment</b>",
            "before nobody closes this comment",
        ),
        ('<a href="x>y</a> text', "y (x) text"),
        ('<p title="a > b">x</p>', "x"),
        ("<<b>bold</b>>", "<bold>"),
    ],
)
def test_what_is_broken_loses_no_words(html: str, text: str) -> None:
    assert read(html) == text


TYPICAL = (
    "<p>IPM4A07 reads <b>2 mm</b> off at 10<sup>-6</sup> mbar, see"
    ' <a href="http://x.org/1">the note</a></p><ul><li>One</li><li>Two, and a longer'
    " line of text that says something</li></ul>\n"
)


def read_much(html: str) -> None:
    assert len(read(html)) <= 3 * len(html)


def test_a_megabyte_is_read_in_linear_time() -> None:
    assert_linear(read_much, TYPICAL * (1_000_000 // len(TYPICAL)))


@pytest.mark.parametrize(
    "mark",
    [
        *("<b>", "<p>x", "<div>", "<table>", "<table><tr><td>x", "<ul><li>x"),
        *("<blockquote>x", "<pre>x", "<!--", "<!", "</a", '<a b="> "', "<a b='>\""),
        *("&#9", "<script>", "<![CDATA[", '<a "> "', "<p a=1 b=2 c=3>", "<title>"),
    ],
)
def test_what_an_attacker_nests_costs_no_more_the_longer_it_is(mark: str) -> None:
    assert_linear(read_much, mark * (200_000 // len(mark)))
