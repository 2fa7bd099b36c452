"""ELOG's own marks read as a person would have typed the entry."""

import pytest

from shared.text.plain_text import to_plain


def read(elcode: str) -> str:
    return to_plain(elcode, "elcode")


@pytest.mark.parametrize(
    ("elcode", "text"),
    [
        (
            "Pump tripped at [b]06:05[/b], see elog:498",
            "Pump tripped at 06:05, see elog:498",
        ),
        ("[B][color=red]a[/color][/B] [size=4]b[/size][font=arial]c[/font]", "a bc"),
        ("[center]x[/center] [unknown] [/x] [] [b", "x [unknown] [/x] [] [b"),
        # Line ends count, and blanks that people align with.
        ("one\r\n  two\n\n\nthree", "one\n  two\n\n\nthree"),
        # What looks like HTML is what somebody typed; other charsets' letters are not.
        ("<b>a</b> &amp; &#8364; &#x41; &#1;", "<b>a</b> &amp; € &#x41; &#1;"),
        ("[h1]Title[/h1]\ntext[line]end", "Title\ntext\n---\nend"),
        (":-) [i]8)[/i]", ":-) 8)"),
        ("a[anchor]here[/anchor]b", "ab"),
    ],
)
def test_an_entry_becomes_its_text(elcode: str, text: str) -> None:
    assert read(elcode) == text


@pytest.mark.parametrize(
    ("elcode", "text"),
    [
        ("[list]\n[*] one\n[*]two\n[/list]\nend", "- one\n- two\nend"),
        ("[list=1][*]one[*]two[/list]end", "1. one\n2. two\nend"),
        ("[list][*]a[list=a][*]b[/list][*]c[/list]", "- a\n  1. b\n- c"),
        ("[*]loose", "- loose"),
        ('[quote="A B"]one\ntwo[/quote]\nno', "A B wrote:\n> one\n> two\nno"),
        ("[quote]a[quote]b[/quote]c[/quote]", "> a\n> > b\n> c"),
        (
            "[table border=1]\nPV|kV\n|-\nC3|[b]5[/b]\n[/table]\nend",
            "PV | kV\nC3 | 5\nend",
        ),
        ("[table]a|b[/table]\n[/table]a|b", "a | b\na|b"),
    ],
)
def test_lists_quotations_and_tables_keep_their_shape(elcode: str, text: str) -> None:
    assert read(elcode) == text


@pytest.mark.parametrize(
    ("elcode", "text"),
    [
        ("[url]http://x.org/a[/url]", "http://x.org/a"),
        ("[url=http://x.org/a]the [b]plot[/b][/url].", "the plot (http://x.org/a)."),
        ("[url=http://x.org/]http://x.org[/url]", "http://x.org"),
        ("[url=elog:12/1]plot[/url]", "plot (elog:12/1)"),
        ("[email]a@b.ch[/email] [email=a@b.ch]me[/email]", "a@b.ch me (a@b.ch)"),
        ("[img]shots/a%20b.png[/img]", "[image: a b.png]"),
        ("[url=javascript:x]a[/url]", "a"),
    ],
)
def test_links_and_pictures_say_what_they_are(elcode: str, text: str) -> None:
    assert read(elcode) == text


@pytest.mark.parametrize(
    ("elcode", "text"),
    [
        (
            "run\n[code]\n [b]x[/b] = [list]\n\n\ty\n[/code]\ndone",
            "run\n [b]x[/b] = [list]\n\n\ty\ndone",
        ),
        ("call [code1]a[*][/code1] now", "call a[*] now"),
        ("[code]never [b]closed[/b]", "never closed"),
        ("[code]a[/code]\n[code]b", "a\nb"),
    ],
)
def test_code_is_kept_as_it_was_typed(elcode: str, text: str) -> None:
    assert read(elcode) == text
