"""HTML that stands amid Markdown: its elements are no words, its pictures say so."""

from __future__ import annotations

import re

from shared.text.markup.html_tags import ELEMENTS, unescape
from shared.text.markup.link_targets import image

# Without its brackets: slash, name, attributes. It ends before any other begins, so
# that all of a line are found in one pass.
TAG = r"<(/?)([A-Za-z][A-Za-z0-9]*+)((?=[\s/>])[^<>]*+)>"

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


def read_tag(
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
