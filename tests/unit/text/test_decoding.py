"""Bytes become text by one rule, whatever was declared, and nothing fails."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.text.decoding import Decoded, decode, mend
from tests.support.linear_cost import assert_linear

LOST = "\ufffd"


@pytest.mark.parametrize(
    ("data", "declared", "text", "charset"),
    [
        (b"", None, "", "utf-8"),
        (b"plain", "ascii", "plain", "utf-8"),
        ("Gerät µm 真空 🚨".encode(), None, "Gerät µm 真空 🚨", "utf-8"),
        # People paste UTF-8 into what declares ISO-8859-1 or anything else.
        ("Gerät".encode(), "ISO-8859-1", "Gerät", "utf-8"),
        ("Gerät".encode(), "windows-1252", "Gerät", "utf-8"),
        ("Gerät".encode(), "shift_jis", "Gerät", "utf-8"),
        # A mark decides, and is dropped.
        (b"\xef\xbb\xbfGer\xc3\xa4t", "iso-8859-15", "Gerät", "utf-8"),
        (b"\xff\xfeG\x00\xe4\x00", "utf-8", "Gä", "utf-16-le"),
        (b"\xfe\xff\x00G\x00\xe4", None, "Gä", "utf-16-be"),
        (b"\xff\xfe\x00\x00G\x00\x00\x00", None, "G", "utf-32-le"),
        # What is declared is read so, if it can be trusted.
        (b"\x8b\x43\x88\xb3 ok", "Shift_JIS", "気圧 ok", "cp932"),
        (b"\xd6\xd0\x81\x40", " 'GB2312' ", "中丂", "gb18030"),
        (b"10 \xa4", "ISO-8859-15", "10 €", "iso8859-15"),
        (b"\xef\xf0\xe8", "windows-1251", "при", "cp1251"),
        (b"caf\xe9", "WINDOWS-1252", "café", "cp1252"),
    ],
)
def test_bytes_are_read_by_what_names_their_charset(data, declared, text, charset):
    assert decode(data, declared) == Decoded(
        text, charset, repaired=False, guessed=False
    )


@pytest.mark.parametrize(
    "declared",
    [
        None,
        "",
        "ascii",
        "US-ASCII",
        "ISO-8859-1",
        "latin1",
        "x-unknown",
        "\x00",
        "\ud800",
        # Codecs of Python that are no charsets: escapes, puzzles and slow ones.
        *("unicode_escape", "utf-7", "idna", "punycode", "rot13", "hex", "undefined"),
    ],
)
def test_what_nobody_can_name_is_read_as_windows_and_says_so(declared) -> None:
    found = decode(b"\x93caf\xe9\x94 5 \x80 \\u0041", declared)
    assert found == Decoded(
        "\u201ccafé\u201d 5 € \\u0041", "cp1252", repaired=False, guessed=True
    )


@pytest.mark.parametrize(
    ("data", "declared", "text"),
    [
        # The five bytes that Windows lacks.
        (b"\xe9\x81\x8d\x8f\x90\x9d", None, "é" + LOST * 5),
        # Declared as UTF-8, and broken: what is whole stays whole.
        ("Gerät".encode() + b"\xc3", "utf-8", "Gerät" + LOST),
        (b"caf\xe9 Ger\xc3\xa4t", "UTF8", f"caf{LOST} Gerät"),
        (b"\xed\xa0\x80", "utf-8", LOST * 3),
        (b"\xff\xfeG\x00\xe4", None, "G" + LOST),
        (b"\xff\xfe\x00\xd8G\x00", None, LOST + "G"),
        (b"a\x00b", None, f"a{LOST}b"),
        (b"\xe9\x00", "ISO-8859-1", "é" + LOST),
    ],
)
def test_what_cannot_be_read_is_marked_and_flagged(data, declared, text) -> None:
    found = decode(data, declared)
    assert found.text == text
    assert found.repaired


def test_only_the_first_mark_is_dropped() -> None:
    assert decode(b"\xef\xbb\xbf\xef\xbb\xbfa").text == "\ufeffa"


@pytest.mark.parametrize(
    ("text", "mended"),
    [
        ("a\x00b", f"a{LOST}b"),
        ("a\ud800b", f"a{LOST}b"),
        ("a\udc00", "a" + LOST),
        ("\ud83d\udea8!", "\U0001f6a8!"),
        ("\ufeffä\udfff\x00", f"\ufeffä{LOST}{LOST}"),
    ],
)
def test_what_no_database_takes_is_mended(text: str, mended: str) -> None:
    assert mend(text) == (mended, True)


@given(st.binary(max_size=200), st.none() | st.text(max_size=20))
def test_any_bytes_become_a_text_that_can_be_kept(data, declared) -> None:
    found = decode(data, declared)
    found.text.encode("utf-8")
    assert "\x00" not in found.text
    assert mend(found.text) == (found.text, False)


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_a_text_in_utf_8_comes_back_as_it_was(text: str) -> None:
    whole = text.replace("\x00", "").lstrip("\ufeff")
    assert decode(whole.encode(), "iso-8859-1") == Decoded(
        whole, "utf-8", repaired=False, guessed=False
    )


@given(st.text(alphabet=st.characters(), max_size=50))
def test_mending_twice_is_mending_once(text: str) -> None:
    mended, changed = mend(text)
    assert changed == (mended != text)
    assert mend(mended) == (mended, False)


@pytest.mark.parametrize(
    "data", [b"\xe9\x81" * 500_000, b"\xc3" * 1_000_000, b"\x00" * 1_000_000]
)
def test_a_megabyte_of_rubbish_costs_little(data: bytes) -> None:
    def read(data: bytes) -> None:
        decode(data)
        decode(data, "utf-8")
        decode(data, "euc-jp")

    assert_linear(read, data)
