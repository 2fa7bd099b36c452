"""Bad input, one row a case: what is sent, and the only verdict that is right."""

import json
from dataclasses import dataclass
from typing import Any

NFC, NFD = "Caf\u00e9", "Cafe\u0301"
LONG_NUMBER = "1" * 5000


@dataclass(frozen=True, slots=True)
class Row:
    """One body for POST /v1/entries; code None: it is accepted and kept as it came."""

    requirement: str
    name: str
    body: bytes
    code: str | None
    status: int = 422


def entry(**fields: Any) -> bytes:
    """Return the body of one entry, pure ASCII as most programs send it."""
    return json.dumps({"text": "x", **fields}).encode()


def raw(text: str) -> bytes:
    """Return a body written by hand."""
    return text.encode("utf-8", "surrogatepass")


NUL = [
    Row("B1", f"NUL in {name}", entry(**{name: value}), "nul_character")
    for name, value in {
        "title": "a\0b",
        "text": "a\0b",
        "external_id": "a\0b",
        "author": "a\0b",
        "tags": ["a\0b"],
        "metadata": {"a\0b": 1},
        "entry_time": "2026-03-02T05:10:00Z\0",
        "kind": "logbook\0",
    }.items()
]
NUL.append(Row("B1", "NUL escaped", raw(r'{"text":"a\u0000b"}'), "nul_character"))
NUL.append(Row("B1", "NUL unescaped", raw('{"text":"a\0b"}'), "invalid_json", 400))

SURROGATES = [
    Row("B2", "lone high", raw(r'{"text":"\ud800"}'), "lone_surrogate"),
    Row("B2", "lone low", raw(r'{"text":"\udfff"}'), "lone_surrogate"),
    Row("B2", "wrong order", raw(r'{"text":"\udc00\ud800"}'), "lone_surrogate"),
    Row("B2", "in a key", raw(r'{"metadata":{"\ud800":1}}'), "lone_surrogate"),
    Row("B2", "a whole pair", raw(r'{"text":"\ud83d\ude00"}'), None, 201),
    Row("B2", "written raw", raw('{"text":"\ud800"}'), "invalid_encoding", 400),
]

ENCODINGS = [
    Row("B3", name, body, "invalid_encoding", 400)
    for name, body in {
        "no UTF-8": b'{"text":"\xff\xfe"}',
        "UTF-16 with a mark": '{"text":"x"}'.encode("utf-16"),
        "UTF-8 with a mark": '\ufeff{"text":"x"}'.encode(),
        "Latin-1": '{"text":"M\u00fcller"}'.encode("latin-1"),
        "cut in a character": '{"text":"M\u00fc'.encode()[:-1],
        "overlong": b'{"text":"\xc0\xaf"}',
    }.items()
]

NUMBERS = [
    Row("B4", name, raw(f'{{"text":"x","metadata":{{"a":{value}}}}}'), code, 400)
    for name, value, code in (
        ("NaN", "NaN", "invalid_json"),
        ("Infinity", "-Infinity", "invalid_json"),
        ("minus zero", "-0", "invalid_json"),
        ("minus zero float", "-0.0", "invalid_json"),
        ("out of range", "1e999", "invalid_json"),
        ("5000 digits", LONG_NUMBER, "invalid_json"),
        ("65 digits", "1" * 65, "invalid_json"),
        ("100,000 deep", "[" * 100_000 + "]" * 100_000, "invalid_json"),
        ("33 deep", "[" * 31 + "]" * 31, "invalid_json"),
        ("double keys", '{"b":1,"b":2}', "invalid_json"),
    )
]
NUMBERS += [
    Row("B4", "64 digits", entry(metadata={"a": int("1" * 64)}), None, 201),
    Row("B4", "8 levels", entry(metadata={"a": [[[[[[["x"]]]]]]]}), None, 201),
    Row(
        "B4",
        "9 levels",
        entry(metadata={"a": [[[[[[[["x"]]]]]]]]}),
        "metadata_too_wide",
    ),
    Row("B4", "no JSON", b"text=x", "invalid_json", 400),
    Row("B4", "nothing", b"", "validation_failed"),
    Row("B4", "a list", b"[]", "validation_failed"),
    Row("B4", "a number", b"1", "validation_failed"),
    Row("B4", "null", b"null", "validation_failed"),
]

IDENTITIES = [
    Row("B9", "empty id", entry(external_id=""), "validation_failed"),
    Row("B9", "256 characters", entry(external_id="x" * 256), "validation_failed"),
    Row(
        "B9", "20,000 characters", entry(external_id="x" * 20_000), "validation_failed"
    ),
]
IDENTITIES += [
    Row("B9", f"id {shown}", entry(external_id=value), None, 201)
    for shown, value in {
        "of 1": "x",
        "of 255": "x" * 255,
        "of 255 wide": "\U0001f600" * 255,
        "with marks": "a/b?c#d%e..f",
        "of dots": "..",
        "with a newline": "a\nb",
        "NFC": NFC,
        "NFD": NFD,
        "lower": "twin",
        "upper": "TWIN",
        "of a blank": " ",
    }.items()
]

TIMES = [
    Row("B10", f"time {value}", entry(entry_time=value), code)
    for value, code in (
        ("2026-03-02T05:10:00", "naive_time"),
        ("0000-01-01T00:00:00Z", "time_out_of_range"),
        ("1899-12-31T23:59:59Z", "time_out_of_range"),
        ("2201-01-01T00:00:00Z", "time_out_of_range"),
        ("9999-12-31T23:59:59Z", "time_out_of_range"),
        ("294277-01-01T00:00:00Z", "time_out_of_range"),
        ("-0001-01-01T00:00:00Z", "time_out_of_range"),
        ("2026-02-30T00:00:00Z", "validation_failed"),
        ("2026-13-01T00:00:00Z", "validation_failed"),
        ("2026-03-02T24:30:00Z", "validation_failed"),
        ("2026-03-02", "validation_failed"),
        ("yesterday", "validation_failed"),
        ("", "validation_failed"),
        ("1772424600", "validation_failed"),
    )
]

# What is accepted comes back as this moment.
MOMENTS = {
    "1900-01-01T00:00:00Z": "1900-01-01T00:00:00Z",
    "2200-12-31T23:59:59Z": "2200-12-31T23:59:59Z",
    "2026-03-02T05:10:00+14:00": "2026-03-01T15:10:00Z",
    "2026-03-02T05:10:00-12:00": "2026-03-02T17:10:00Z",
    "2016-12-31T23:59:60Z": "2017-01-01T00:00:00Z",
    "2262-04-12T00:00:00Z": None,
    "2026-03-02T05:10:00.123456Z": "2026-03-02T05:10:00.123456Z",
}

ENTRIES = [*NUL, *SURROGATES, *ENCODINGS, *NUMBERS, *IDENTITIES, *TIMES]

# A text, what is said of how to show it, and what finds it beside its title.
ODD_TEXTS: dict[str, tuple[str, list[str], tuple[str, ...]]] = {
    "empty": ("", [], ()),
    "blanks only": (" \t\n\u00a0\u3000", [], ()),
    "zero width only": ("\u200b\u200d\ufeff", ["zero_width"], ()),
    "bidi override": ("\u202ekalvet\u202c stuck", ["bidi"], ("kalvet stuck",)),
    "emoji ZWJ": ("\U0001f469\u200d\U0001f52c hutchfive", [], ("hutchfive",)),
    "right to left": (
        "\u0645\u0636\u062e\u0629 \u0627\u0644\u0641\u0631\u0627\u063a",
        [],
        (
            "\u0645\u0636\u062e\u0629",
            '"\u0645\u0636\u062e\u0629 \u0627\u0644\u0641\u0631\u0627\u063a"',
        ),
    ),
    "homoglyph": ("c\u0430vity open", ["mixed_script"], ("c\u0430vity",)),
}

# Texts that a search must survive; None: an answer, else the code of a refusal.
QUERIES: dict[str, tuple[str, str | None]] = {
    "empty": ("", None),
    "blanks": ("   \n\t", None),
    "1000 characters": ("pump " * 200, None),
    "1001 characters": ("pump " * 200 + "x", None),
    "10,000 characters": ("pump " * 2000, None),
    "10,001 characters": ("pump " * 2000 + "x", "query_too_long"),
    "10,000 words": ("a " * 10_000, "query_too_long"),
    "60,000 characters": ("a" * 60_000, "query_too_long"),
    "a million characters": ("a" * 1_000_000, "body_too_large"),
    "operators only": ("AND OR NOT && || - + !", None),
    "unbalanced quotes": ('"rf trip', None),
    "only quotes": ('""""', None),
    "brackets": ("((([[[{{{ )))", None),
    "nothing in brackets": ("()", None),
    "negations only": ("-only -negations", None),
    "a language without spaces": ("真空漏れ", None),
    "wildcards": ("* ? *:* /.*/ title:(((", None),
    "backslashes": ('\\\\\\ \\" \\u0000', None),
    "injection": ("'; DROP TABLE entry; --", None),
    "body of another": ('"}},"size":9999', None),
    "fields": ("_exists_:x facility:B OR *", None),
    "a word of 900 characters": ("a" * 900, None),
    "regex bait": ("a" * 900 + "!", None),
    "combining marks": ("e" + "\u0301" * 900, None),
    "bidi": ("\u202epirt fr\u202c", None),
    "zero width": ("\u200b\u200b", None),
    "emoji": ("\U0001f9ea\u200d\U0001f525", None),
    "NUL": ("a\0b", "nul_character"),
    "lone surrogate": ("\ud800", "lone_surrogate"),
}
