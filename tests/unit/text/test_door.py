"""Foreign text is refused by name or returned exactly; parsing never falls over."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import InvalidRequestError
from shared.text import door


def code_of(raw: bytes) -> str:
    with pytest.raises(InvalidRequestError) as caught:
        door.parse_json(raw)
    return caught.value.error_code


@pytest.mark.parametrize(
    "raw",
    [
        b"\xff\xfe{\x00}\x00",
        b"\xef\xbb\xbf{}",
        '{"text": "Störung"}'.encode("latin-1"),
        '{"text": "ä'.encode()[:-1],
        b'{"text": "\xed\xa0\x80"}',
    ],
    ids=["utf-16", "bom", "latin-1", "cut", "encoded surrogate"],
)
def test_bytes_that_are_not_utf8_are_refused_as_encoding(raw: bytes) -> None:
    assert code_of(raw) == "invalid_encoding"


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"NaN",
        b'{"n": Infinity}',
        b'{"n": -Infinity}',
        b"[-0]",
        b"[-0.0]",
        b"[1e999]",
        b"[-1e999]",
        b"9" * 5000,
        b"0." + b"1" * 63,
        b"[" * 33 + b"]" * 33,
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"a": 1, "a": 2}',
        b'"\x00"',
        b'{"a": "unclosed',
    ],
)
def test_json_beyond_its_limits_is_refused(raw: bytes) -> None:
    assert code_of(raw) == "invalid_json"


def test_json_at_its_limits_is_read() -> None:
    assert door.parse_json(b"[" * 32 + b"]" * 32)
    assert door.parse_json(b"9" * 64) == int("9" * 64)
    assert door.parse_json(b'["[[[[\\"[[[' + b"[" * 50 + b'"]') == [
        '[[[["[[[' + "[" * 50
    ]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(10**15), 10**15) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=20,
    )
)
def test_what_json_can_say_comes_back_equal(value: object) -> None:
    assert door.parse_json(json.dumps(value).encode()) == value


@given(st.binary(max_size=200))
def test_parsing_any_bytes_returns_or_refuses(raw: bytes) -> None:
    with contextlib.suppress(InvalidRequestError):
        door.parse_json(raw)


@pytest.mark.parametrize(
    ("document", "code", "path"),
    [
        ({"title": "a\x00b"}, "nul_character", "title"),
        ({"metadata": {"k\x00": 1}}, "nul_character", "metadata.k?"),
        ({"tags": ["ok", "\ud800"]}, "lone_surrogate", "tags.1"),
        ({"entries": [{"text": "\udfff!"}]}, "lone_surrogate", "entries.0.text"),
        ({"\ud800": 1}, "lone_surrogate", "?"),
        ("\x00", "nul_character", "body"),
    ],
)
def test_text_no_database_takes_is_refused_by_field(document, code, path) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        door.check_tree(document)
    assert caught.value.error_code == code
    assert caught.value.status == 422
    assert caught.value.details["fields"][0]["path"] == path
    json.dumps(caught.value.body()).encode("utf-8")


def test_text_is_admitted_unchanged() -> None:
    text = "Ünïcode\u200b \u202e 👩\u200d🔬\n\t e\u0301"
    assert door.admit(text, "text") is text


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        ("RF cavity 2 tripped", ()),
        ("Kühlwasser, 2 µm, 5 μm, Δp, \u03bdx, 真空", ()),
        ("👩\u200d🔬 at the hutch", ()),
        ("safe\u202egpj.exe", ("bidi",)),
        ("ca\u200bvity", ("zero_width",)),
        ("ca\u200dvity", ("zero_width",)),
        ("\u200b", ("zero_width",)),
        ("c\u0430vity", ("mixed_script",)),
        ("\u202ec\u0430v\u200bity", ("bidi", "zero_width", "mixed_script")),
    ],
)
def test_text_to_display_with_care_is_named(text: str, flags: tuple[str, ...]) -> None:
    assert door.text_flags(text) == flags
