"""Numbers as they would be written plainly: `1,200`, `007` and `three`."""

from __future__ import annotations

import re
from collections.abc import Iterator

_NUMBER = re.compile(
    r"(?<![\w.])\d{1,20}(?:[.,:]\d{1,20}){0,6}|(?<=[A-Za-z_-])\d{1,20}"
)
_GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_WORDS = {
    word: number
    for number, words in enumerate(
        (
            *("two zwei", "three drei", "four vier", "five fuenf", "six sechs"),
            *("seven sieben", "eight acht", "nine neun", "ten zehn", "eleven elf"),
            *("twelve zwoelf", "thirteen dreizehn", "fourteen vierzehn"),
            *("fifteen fuenfzehn", "sixteen sechzehn", "seventeen siebzehn"),
            *("eighteen achtzehn", "nineteen neunzehn", "twenty zwanzig"),
        ),
        2,
    )
    for word in words.split()
}


def find_numbers(text: str) -> Iterator[str]:
    """Yield every number, as it would be written plainly."""
    for match in _NUMBER.finditer(text):
        written = match[0]
        if ":" in written:
            yield written.lstrip("0") or written
            continue
        if _GROUPED.fullmatch(written):
            written = written.replace(",", "")
        plain = written.replace(",", ".")
        if plain.count(".") == 1:
            plain = plain.rstrip("0").rstrip(".")
        yield plain.lstrip("0") or "0"
    folded = text.casefold().replace("\u00fc", "ue").replace("\u00f6", "oe")
    for word in re.findall(r"[^\W\d_]{3,9}", folded):
        if word in _WORDS:
            yield str(_WORDS[word])
