"""Foreign bytes become text, and say when they had to be repaired or guessed."""

import codecs
import re
from dataclasses import dataclass
from encodings.aliases import aliases

REPLACEMENT = "\ufffd"

_GUESS = "cp1252"
# The longer mark first: that of UTF-32 begins like that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Those that name text alone: Python's others execute escapes, or take quadratic time.
# What is declared as the smaller set is sent in the larger one.
_LARGER = {
    "utf_16": "utf-16-le",
    "utf_32": "utf-32-le",
    "shift_jis": "cp932",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "euc_kr": "cp949",
    "iso8859_9": "cp1254",
    "iso8859_11": "cp874",
}
_TRUSTED = frozenset(
    {
        *_LARGER,
        *("utf_8", "utf_16_le", "utf_16_be", "utf_32_le", "utf_32_be"),
        *("cp1250", "cp1251", "cp1252", "cp1253", "cp1254", "cp1255", "cp1256"),
        *("cp1257", "cp1258", "cp437", "cp850", "cp852", "cp866", "cp874"),
        *(f"iso8859_{part}" for part in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)),
        *("koi8_r", "koi8_u", "mac_roman", "mac_cyrillic", "tis_620"),
        *("big5", "cp950", "cp932", "cp949", "euc_jp", "iso2022_jp", "gb18030"),
    }
)
_NOT_OF_A_LABEL = re.compile(r"[^a-z0-9]")
_LONGEST_LABEL = 40


def _squeezed(label: str) -> str:
    return _NOT_OF_A_LABEL.sub("", label[:_LONGEST_LABEL].lower())


_CODECS = {
    _squeezed(label): _LARGER.get(codec, codec.replace("_", "-"))
    for label, codec in [*aliases.items(), *((name, name) for name in _TRUSTED)]
    if codec in _TRUSTED
}


@dataclass(frozen=True, slots=True)
class Decoded:
    """A text, the charset it was read by, and how sure that is."""

    text: str
    charset: str
    # Something unreadable stands as U+FFFD.
    repaired: bool
    # Neither the bytes nor a declaration that can be trusted named the charset.
    guessed: bool


def decode(data: bytes, declared: str | None = None) -> Decoded:
    """Return the bytes as text; never fails, and always gives the same.

    A byte order mark decides, then UTF-8 if valid, then what is declared; ASCII and
    ISO-8859-1 are declared by those who do not know.
    """
    for mark, charset in _MARKS:
        if data.startswith(mark):
            return _read(data[len(mark) :], charset)
    try:
        return _mended(data.decode("utf-8"), "utf-8")
    except UnicodeDecodeError:
        trusted = _CODECS.get(_squeezed(declared)) if declared else None
    return _read(data, trusted) if trusted else _read(data, _GUESS, guessed=True)


def mend(text: str) -> tuple[str, bool]:
    """Return the text without NUL and halves of surrogate pairs, and if it had any."""
    mended = text.replace("\x00", REPLACEMENT) if "\x00" in text else text
    if not mended.isascii():
        try:
            mended.encode("utf-8")
        except UnicodeEncodeError:
            # Two halves that stand together are a whole.
            halves = mended.encode("utf-16-le", "surrogatepass")
            mended = halves.decode("utf-16-le", "replace")
    return mended, mended != text


def _read(data: bytes, charset: str, *, guessed: bool = False) -> Decoded:
    try:
        return _mended(data.decode(charset), charset, guessed=guessed)
    except UnicodeDecodeError:
        text = data.decode(charset, "replace")
    return _mended(text, charset, repaired=True, guessed=guessed)


def _mended(
    text: str, charset: str, *, repaired: bool = False, guessed: bool = False
) -> Decoded:
    mended, changed = mend(text)
    return Decoded(mended, charset, repaired or changed, guessed)
