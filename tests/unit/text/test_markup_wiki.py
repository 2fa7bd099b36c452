"""Markdown and Textile read as text: marks off, names, code and tables kept."""

import pytest

from shared.text.plain_text import to_plain


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        (
            "**RF trip** on cavity *3*, reset after __4 min__\n\nPV: SR-RF:C3:FWD",
            "RF trip on cavity 3, reset after 4 min\n\nPV: SR-RF:C3:FWD",
        ),
        # Names and numbers are not emphasis.
        (
            "HCM_03_X 2*3*4 a * b * c snake_case_",
            "HCM_03_X 2*3*4 a * b * c snake_case_",
        ),
        ("~~old~~ ***both*** **half", "old both **half"),
        ("5 * 3 **", "5 * 3 **"),
        (
            "# Title #\n## Two\n#3 is no title\nC#\n### C#",
            "Title\nTwo\n#3 is no title\nC#\nC#",
        ),
        (
            "Head\n====\nSub\n---\nx\n\n---\n* * *\n_____",
            "Head\nSub\nx\n\n---\n---\n---",
        ),
        (
            "* one\n+ two\n  * three\n1. four\n- [x] five",
            "- one\n- two\n  - three\n1. four\n- [x] five",
        ),
        ("> quoted **text**", "> quoted text"),
        ("one<br>two\\\nthree  \nfour", "one\ntwo\nthree\nfour"),
        (r"\*no\* C:\dir \\", r"*no* C:\dir " + "\\"),
        ("a &amp; b &lt;c&gt; AT&T", "a & b <c> AT&T"),
        # HTML is no words, a name in brackets is one.
        ("x < y <b>z</b> <BEAM_CURRENT> <SR:C03>", "x < y z <BEAM_CURRENT> <SR:C03>"),
        ('<div align="center">\n<h1>Title</h1>\n\n</div>\nend', "Title\n\nend"),
        ("10<sup>-6</sup> mbar, 1<sup>st</sup>", "10^-6 mbar, 1st"),
        ("<td>a</td><td>b</td>", "a b"),
        (
            '<img src="a/shot.png" width=3> <img alt="Beam">',
            "[image: shot.png] [image: Beam]",
        ),
        ("a <!-- note --> b\n<!-- one\ntwo\n-->\nc", "a  b\nc"),
        ("a <!-- b\n<!-- never closed", "a <!-- b\n<!-- never closed"),
        ("`<b>` `<!--`", "<b> <!--"),
    ],
)
def test_markdown_loses_its_marks_and_nothing_else(markdown: str, text: str) -> None:
    assert to_plain(markdown, "markdown") == text


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        (
            "[the **note**](http://x.org/a_(b) 'Title').",
            "the note (http://x.org/a_(b)).",
        ),
        ("[http://x.org](http://x.org/)", "http://x.org"),
        ("<http://x.org/a_b_c> [x] [x][1] (y)", "http://x.org/a_b_c [x] [x][1] (y)"),
        (
            "![Beam loss](a/b.png) ![](attachment/shot.png){width=100}",
            "[image: Beam loss] [image: shot.png]",
        ),
        ("[![small](s.png)](big.png)", "[image: small] (big.png)"),
        ("![x](data:image/png;base64,AAAA)", "[image: x]"),
        (
            "[the note][1] ![x][ Pic ]\n\n[1]: http://x.org/a 'T'\n[pic]: <p.png>",
            "the note (http://x.org/a) [image: x]",
        ),
        ("[10:30]: tripped\n[^1]: a note", "[10:30]: tripped\n[^1]: a note"),
        ("[broken](http://x.org [a", "[broken](http://x.org [a"),
    ],
)
def test_links_and_pictures_in_markdown_say_what_they_are(markdown, text) -> None:
    assert to_plain(markdown, "markdown") == text


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ("run `a*b*c_d_` and ``x`y`` and `open", "run a*b*c_d_ and x`y and `open"),
        (
            "```py\nx = **y**\n# no title\n```\n**z**",
            "```py\nx = **y**\n# no title\n```\nz",
        ),
        ("~~~~\na\n~~~\n~~~~\n*b*", "~~~~\na\n~~~\n~~~~\nb"),
        ("```\nnever *closed*", "```\nnever *closed*"),
        ("    x = *y*\nz", "    x = *y*\nz"),
        ("| PV | kV |\n|:---|---:|\n| `C3` | **5** |\n\na|b", "PV | kV\nC3 | 5\n\na|b"),
        ("a | b\n--- | ---\n1 | 2\nend", "a | b\n1 | 2\nend"),
    ],
)
def test_code_and_tables_in_markdown_are_kept(markdown: str, text: str) -> None:
    assert to_plain(markdown, "markdown").strip() == text.strip()


@pytest.mark.parametrize(
    ("textile", "text"),
    [
        (
            "h1. Title\n\np(note). Gate *off*, _soon_ back",
            "Title\n\nGate off, soon back",
        ),
        ("* one\n** two\n# three", "- one\n  - two\n# three"),
        (
            'see "the note":http://x.org/a. HCM_03_X',
            "see the note (http://x.org/a). HCM_03_X",
        ),
        (
            "!shot.png! !a.png(Beam)! Stop! Now!",
            "[image: shot.png] [image: Beam] Stop! Now!",
        ),
        ("|_. PV|_. kV|\n|C3| *5*|", "PV | kV\nC3 | 5"),
        ("bc. x *y* z\n more\n\n*b* @a_b_c@", "x *y* z\n more\n\nb a_b_c"),
        ("bq. said", "> said"),
        # A rule that somebody has typed is no list eighteen deep.
        ("****************** UPDATE AT 16:15", "****************** UPDATE AT 16:15"),
    ],
)
def test_textile_loses_its_marks(textile: str, text: str) -> None:
    assert to_plain(textile, "textile") == text
