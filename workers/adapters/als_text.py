r"""Texts of the ALS eLog, as people wrote them.

Its pages send HTML whose markup is written as entities, other programs HTML in a CDATA
section, or plain text; before quotes and backslashes stands a backslash. So have the
texts that als-apg/osprey holds its reader of this logbook to (`clean_als_text`,
`als_olog_encoded_entries.jsonl`).
"""

import html
import re

from shared.adapter_contract.entry import TextFormat
from shared.text import plain_text

_ENTITY = re.compile(
    r"&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});"
)
# Names of tags alone tell markup from x<y; what is no tag stays as it was written.
_TAG = re.compile(
    r"</?(?:a|b|blockquote|body|br|center|code|div|em|font|h[1-6]|hr|html|i|img|li|ol|p"
    r"|pre|s|span|strike|strong|sub|sup|table|tbody|td|th|thead|tr|u|ul)"
    r"(?:\s[^<>]{0,2000})?/?>",
    re.IGNORECASE,
)
_CDATA = re.compile(r"\A\s{0,99}<!\[CDATA\[(.*)\]\]>\s{0,99}\Z", re.DOTALL)
_SLASHED_QUOTE = re.compile(r"(?<!\\)\\++(?=['\"]|&quot;|&#0?39;)")
_SLASHES = re.compile(r"\\{2,}")


def read_title(value: str) -> str:
    """Return a title; it is escaped twice, or not at all."""
    title = _unslashed(_decoded(_decoded(value)))
    return plain_text.to_plain(title, "html") if _TAG.search(title) else title


def read_text(value: str) -> tuple[str, TextFormat]:
    """Return a text, and whether it is HTML."""
    if section := _CDATA.match(value):
        value = section[1]
    if _TAG.search(value):
        return _unslashed(value), "html"
    once = _unslashed(_decoded(value))
    if _TAG.search(once):
        return once, "html"
    return _decoded(once), "plain"


def _decoded(text: str) -> str:
    return _ENTITY.sub(lambda found: html.unescape(found[0]), text)


def _unslashed(text: str) -> str:
    text = _SLASHED_QUOTE.sub("", text)
    return _SLASHES.sub(lambda found: "\\" * (len(found[0]) // 2), text)
