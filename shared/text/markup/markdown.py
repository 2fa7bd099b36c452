"""Markdown as text to be read: its marks off, its code and its tables kept."""

from __future__ import annotations

import re

from shared.text.markup.emphasis import EmphasisLine
from shared.text.markup.html_tags import unescape
from shared.text.markup.link_targets import image, linked

# An address, one pair of brackets in it, and a title.
_TARGET = (
    r"\([ \t]*+<?([^\s()<>]*+(?:\([^\s()<>]*+\)[^\s()<>]*+)?)>?"
    r"(?:[ \t]++(?:\"[^\"]*+\"|'[^']*+'))?[ \t]*+\)"
)
_SIZE = r"(?:\{[^{}]*+\})?"
_INLINE = re.compile(
    r"\\([!-/:-@\[-`{-~])"
    r"|(`++)"
    rf"|\[!\[([^\[\]]*+)\]{_TARGET}{_SIZE}\]{_TARGET}"
    rf"|(!?)\[([^\[\]]*+)\]{_TARGET}{_SIZE}"
    r"|<((?:https?|ftp|mailto):[^\s<>]++)>"
    r"|(&#?[A-Za-z0-9]{1,31};)"
    r"|(\*++|_++|~~)"
)
_ANY_INLINE = re.compile(r"[\\`\[<&*_~]")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]+|$)")
_BULLET = re.compile(r"^([ \t]*+)[*+-][ \t]++")
_BREAK = re.compile(r"<br[ \t]*+/?>", re.IGNORECASE)
# A line of nothing else is no text, but a rule, or a part of a heading or a table.
_RULES = "|-:=*_ \t"
_INDENTED = ("    ", "\t")
_SHORTEST_RULE = 3


def to_text(markdown: str) -> str:
    """Return what a person reads in it; total, and linear in its length."""
    lines = markdown.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join(_Blocks().read(lines)).strip("\n")


class _Blocks:
    """A walk along the lines, which knows what block it is in."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._fence = ""
        self._is_table = False

    def read(self, lines: list[str]) -> list[str]:
        for line in lines:
            if self._fence:
                self._code(line)
            else:
                self._line(line)
        return self._lines

    def _code(self, line: str) -> None:
        self._lines.append(line)
        closed = line.strip()
        if closed.startswith(self._fence) and not closed.strip(self._fence[0]):
            self._fence = ""

    def _line(self, line: str) -> None:
        self._is_table = self._is_table and "|" in line
        fence = _FENCE.match(line)
        if fence:
            self._fence = fence[1]
            self._lines.append(line)
        elif line.strip(_RULES):
            self._words(line)
        else:
            self._ruled(line, {*line.replace("\t", " ")} - {" "})

    def _words(self, line: str) -> None:
        if self._is_table:
            self._lines.append(_row(inline(line)))
        elif line.startswith(_INDENTED) and not _BULLET.match(line):
            self._lines.append(line.rstrip())
        else:
            self._lines += _plain_line(line)

    def _ruled(self, line: str, marks: set[str]) -> None:
        """Read a line that is blank or of nothing but marks."""
        if not marks:
            self._lines.append("")
        elif {"|", "-"} <= marks <= {"|", "-", ":"}:
            self._begin_table()
        elif self._is_table:
            self._lines.append(_row(line))
        elif marks <= {"="} or marks <= {"-"}:
            self._underline(line)
        elif marks <= {"*"} or marks <= {"_"}:
            self._rule(line)
        else:
            self._words(line)

    def _begin_table(self) -> None:
        """Drop the line between a table's head and its body."""
        self._is_table = True
        if self._lines and "|" in self._lines[-1]:
            self._lines[-1] = _row(self._lines[-1])

    def _underline(self, line: str) -> None:
        """Drop what makes the line before it a heading; alone it is a rule."""
        if not self._lines or not self._lines[-1].strip():
            self._rule(line)

    def _rule(self, line: str) -> None:
        is_rule = sum(not mark.isspace() for mark in line) >= _SHORTEST_RULE
        self._lines.append("---" if is_rule and "=" not in line else line)


def inline(text: str) -> str:
    """Return a line without the marks inside of it."""
    if not _ANY_INLINE.search(text):
        return text
    line, place, ends = EmphasisLine(), 0, _ends_of_code(text)
    while match := _INLINE.search(text, place):
        line.add(text[place : match.start()])
        place = match.end()
        escaped, ticks, shown, source, target, *others = match.groups()
        bang, words, address, link, entity, mark = others
        if ticks:
            end = ends.get(match.start(2), place)
            line.add(text[place : end - len(ticks)].strip() if end > place else ticks)
            place = end
        elif target is not None:
            line.add(linked(image(shown, source), target))
        elif address is not None and bang:
            line.add(image(words, address))
        elif address is not None:
            # Without brackets there is no link in it, so that this ends here.
            line.add(linked(inline(words), address))
        elif mark:
            before = text[match.start() - 1 : match.start()]
            line.mark(mark, before, text[place : place + 1])
        else:
            line.add(escaped or link or unescape(entity or ""))
    line.add(text[place:])
    return line.result()


def _plain_line(line: str) -> list[str]:
    heading = _HEADING.match(line)
    if heading:
        bare = line[heading.end() :].rstrip()
        title = bare.rstrip("#")
        is_closed = not title or title[-1].isspace()
        return [inline(title.rstrip() if is_closed else bare)]
    # A backslash at the end breaks the line, which ends there anyway.
    whole = _BULLET.sub(r"\1- ", line.rstrip().removesuffix("\\"), count=1)
    return [inline(part) for part in _BREAK.split(whole)]


def _row(line: str) -> str:
    bare = line.strip().removeprefix("|").removesuffix("|")
    return " | ".join(cell.strip() for cell in bare.split("|"))


def _ends_of_code(text: str) -> dict[int, int]:
    """Return where each stretch of code ends, by where its ticks begin."""
    nearest: dict[int, int] = {}
    ends: dict[int, int] = {}
    for match in reversed(list(re.finditer("`++", text))):
        ticks = match.end() - match.start()
        if ticks in nearest:
            ends[match.start()] = nearest[ticks]
        nearest[ticks] = match.end()
    return ends
