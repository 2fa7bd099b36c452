"""Markdown as text to be read: its marks off, its code and its tables kept."""

import re

from shared.text.markup.emphasis import EmphasisLine
from shared.text.markup.html_tags import ELEMENTS, unescape
from shared.text.markup.link_targets import image, linked

# Without its brackets: slash, name, attributes. It ends before any other begins, so
# that all of a line are found in one pass.
_TAG = r"<(/?)([A-Za-z][A-Za-z0-9]*+)((?=[\s/>])[^<>]*+)>"
# Elements that stand within a line, so that nothing ends where they do.
_PHRASING = frozenset(
    re.findall(
        r"\w+",
        "a abbr acronym b bdi bdo big cite code data del dfn em font i img ins kbd mark"
        " q s samp small span strike strong sub sup time tt u var wbr",
    )
)
_ALT = re.compile(r"\balt\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)')", re.IGNORECASE)
_SRC = re.compile(r"\bsrc\s*+=\s*+[\"']?([^\s\"'>]++)", re.IGNORECASE)
_POWER = re.compile("[-+\u22120-9]")
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
    r"|(!?)\[([^\[\]]*+)\]\[([^\[\]]*+)\]"
    r"|(<!--)"
    rf"|{_TAG}"
)
_ANY_INLINE = re.compile(r"[\\`\[<&*_~]")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]+|$)")
_BULLET = re.compile(r"^([ \t]*+)[*+-][ \t]++")
_BREAK = re.compile(r"<br[ \t]*+/?>", re.IGNORECASE)
# A line of nothing else is no text, but a rule, or a part of a heading or a table.
_RULES = "|-:=*_ \t"
# `[label]: address "title"`, which says where `[words][label]` leads. What is no
# address is text: `[10:30]: tripped`.
_REFERENCE = re.compile(
    r" {0,3}\[([^\[\]^\s][^\[\]]*+)\]:[ \t]*+"
    r"(?:<([^\s<>]++)>|((?:https?://|ftp://|mailto:|[#/]|\.\.?/|www\.)[^\s<>]*+))"
    r"(?:[ \t]++(?:\"[^\"]*+\"|'[^']*+'|\([^()]*+\)))?[ \t]*+"
)
_COMMENT, _COMMENT_END = "<!--", "-->"
_INDENTED = ("    ", "\t")
_SHORTEST_RULE = 3


def to_text(markdown: str) -> str:
    """Return the readable text; never fails, and takes time linear in its length."""
    lines = markdown.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join(_Blocks(lines).read()).strip("\n")


class _Blocks:
    """A walk along the lines, which knows what block it is in."""

    def __init__(self, lines: list[str]) -> None:
        self._given = lines
        self._lines: list[str] = []
        self._fence = ""
        self._is_table = False
        self._is_comment = False
        # Up to here a comment may still end: one that never does hides nothing.
        ends = (n for n, line in enumerate(lines) if _COMMENT_END in line)
        self._last_end = max(ends, default=-1)
        # Where the labels of references lead, as the whole text says.
        references = filter(None, map(_REFERENCE.fullmatch, lines))
        self._links = {_label(one[1]): one[2] or one[3] for one in references}

    def read(self) -> list[str]:
        for number, line in enumerate(self._given):
            if self._fence:
                self._code(line)
            elif self._is_comment:
                _, ended, rest = line.partition(_COMMENT_END)
                self._is_comment = not ended
                if rest.strip():
                    self._line(rest)
            elif _opens_comment(line) and number < self._last_end:
                self._is_comment = True
            elif not _REFERENCE.fullmatch(line):
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
            self._lines.append(_row(inline(line, self._links)))
        elif line.startswith(_INDENTED) and not _BULLET.match(line):
            self._lines.append(line.rstrip())
        else:
            read = _plain_line(line, self._links)
            # A line of nothing but elements leaves nothing, not even a blank line.
            self._lines += read if any(read) or len(read) > 1 else []

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


def _opens_comment(line: str) -> bool:
    return line.lstrip().startswith(_COMMENT) and _COMMENT_END not in line


def _label(written: str) -> str:
    return " ".join(written.lower().split())


def inline(text: str, links: dict[str, str]) -> str:
    """Return a line without the marks inside of it; `links` are of its references."""
    if not _ANY_INLINE.search(text):
        return text
    line, place, ends = EmphasisLine(), 0, _ends_of_code(text)
    last_comment_end = text.rfind(_COMMENT_END)
    while match := _INLINE.search(text, place):
        line.add(text[place : match.start()])
        place = match.end()
        escaped, ticks, shown, source, target, *others = match.groups()
        bang, words, address, link, entity, mark, *others = others
        picture, named, label, comment, *tag = others
        if ticks:
            end = ends.get(match.start(2), place)
            line.add(text[place : end - len(ticks)].strip() if end > place else ticks)
            place = end
        elif target is not None:
            line.add(linked(image(shown, source), target))
        elif address is not None:
            line.add(_link(bang, words, address, links))
        elif mark:
            before = text[match.start() - 1 : match.start()]
            line.mark(mark, before, text[place : place + 1])
        elif named is not None:
            line.add(_referred(match[0], picture, named, label, links))
        elif comment:
            is_closed = place <= last_comment_end
            end = text.find(_COMMENT_END, place) if is_closed else -1
            place = place if end < 0 else end + len(_COMMENT_END)
            line.add(comment if end < 0 else "")
        elif tag[1]:
            line.add(_element(match, *tag))
        else:
            line.add(escaped or link or unescape(entity or ""))
    line.add(text[place:])
    return line.result()


def _element(match: re.Match[str], slash: str, name: str, attributes: str) -> str:
    text, start, end = match.string, match.start(), match.end()
    before, after = text[max(0, start - 1) : start], text[end : end + 1]
    read = _read_tag(slash, name, attributes, before, after)
    return match[0] if read is None else read


def _referred(
    written: str, bang: str, words: str, label: str, links: dict[str, str]
) -> str:
    """Return `[words][label]` with its address; without such a reference it is text.

    Said once a label, so that a text does not grow by as much as it has links.
    """
    key = _label(label or words)
    address = links.get(key)
    if address is None:
        return written
    links[key] = ""
    return _link(bang, words, address, links)


def _link(bang: str, words: str, address: str, links: dict[str, str]) -> str:
    # Without brackets there is no link in it, so that this ends here.
    return image(words, address) if bang else linked(inline(words, links), address)


def _plain_line(line: str, links: dict[str, str]) -> list[str]:
    heading = _HEADING.match(line)
    if heading:
        bare = line[heading.end() :].rstrip()
        title = bare.rstrip("#")
        is_closed = not title or title[-1].isspace()
        return [inline(title.rstrip() if is_closed else bare, links)]
    # A backslash at the end breaks the line, which ends there anyway.
    whole = _BULLET.sub(r"\1- ", line.rstrip().removesuffix("\\"), count=1)
    return [inline(part, links) for part in _BREAK.split(whole)]


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


def _read_tag(
    slash: str, name: str, attributes: str, before: str, after: str
) -> str | None:
    """Return the text for a tag between two characters; None: no HTML element."""
    element = name.lower()
    if element not in ELEMENTS:
        return None
    if element == "img":
        alt, source = _ALT.search(attributes), _SRC.search(attributes)
        shown = unescape(alt[1] or alt[2] or "") if alt else ""
        return image(shown, source[1] if source else "")
    if element == "sup" and not slash and before.isalnum() and _POWER.match(after):
        # 10<sup>-6</sup> is not 10-6.
        return "^"
    # The first of several tags side by side leaves the blank.
    is_between = before.strip("> \t") and after.strip() and element not in _PHRASING
    return " " if is_between else ""
