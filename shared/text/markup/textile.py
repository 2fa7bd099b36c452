"""Textile as text to be read, as far as logbooks use it."""

import re

from shared.text.markup.emphasis import EmphasisLine
from shared.text.markup.link_targets import image, linked

_BLOCK = re.compile(
    r"(?P<kind>h[1-6]|p|bq|bc|pre|div|notextile|fn\d{1,3})"
    r"(?:[<>=]|\([^()]*+\)|\{[^{}]*+\}|\[[^\[\]]*+\])*\.{1,2}(?:[ \t]+|$)"
)
_ITEM = re.compile(r"([*#]{1,6})[ \t]+")
_CELL = re.compile(r"(?:_|[<>=^~]|[\\/]\d{1,3}|\{[^{}]*+\}|\([^()]*+\))+\.[ \t]+")
_INLINE = re.compile(
    r"\"([^\"]*+)\":([^\s\"<>]++)"
    r"|!([^\s!()]++)(?:\(([^()]*+)\))?!"
    r"|@([^@]++)@"
    r"|(\*++|_++)"
)
_AFTER_ADDRESS = ".,;:!?)]"


def to_text(textile: str) -> str:
    """Return the readable text; never fails, and takes time linear in its length."""
    lines = textile.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join(_blocks(lines)).strip("\n")


def _blocks(lines: list[str]) -> list[str]:
    read: list[str] = []
    is_code = False
    for line in lines:
        if not line.strip():
            is_code = False
            read.append("")
            continue
        block = _BLOCK.match(line)
        if block:
            is_code = block["kind"] in {"bc", "pre", "notextile"}
            rest = line[block.end() :]
            quote = "> " if block["kind"] == "bq" else ""
            read.append(rest if is_code else quote + _inline(rest))
        else:
            read.append(line if is_code else _line(line))
    return read


def _line(line: str) -> str:
    stripped = line.strip()
    if len(stripped) > 1 and stripped[0] == stripped[-1] == "|":
        cells = (_CELL.sub("", cell, count=1) for cell in stripped[1:-1].split("|"))
        return " | ".join(_inline(cell.strip()) for cell in cells)
    item = _ITEM.match(line)
    if item is None:
        return _inline(line.rstrip())
    mark = "- " if item[1][-1] == "*" else "# "
    depth = min(len(item[1]), 4) - 1
    return "  " * depth + mark + _inline(line[item.end() :].rstrip())


def _inline(text: str) -> str:
    line, place = EmphasisLine(), 0
    for match in _INLINE.finditer(text):
        line.add(text[place : match.start()])
        place = match.end()
        words, address, source, shown, code, mark = match.groups()
        if address is not None:
            bare = address.rstrip(_AFTER_ADDRESS)
            line.add(linked(words, bare) + address[len(bare) :])
        elif source is not None:
            line.add(image(shown or "", source))
        elif code is not None:
            line.add(code)
        else:
            before = text[match.start() - 1 : match.start()]
            line.mark(mark, before, text[place : place + 1])
    line.add(text[place:])
    return line.result()
