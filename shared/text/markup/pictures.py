"""Which pictures a text shows, by the addresses that it names them with."""

import re
from collections.abc import Callable, Iterator

from shared.text.markup.html_tags import OPENS, marks, unescape, unescape_address

MOST_PICTURES = 1000
_LONGEST_ADDRESS = 2000
_BREAKS = re.compile(r"[\t\r\n]")
# Nothing that may stand inside of a mark begins one: each place is looked at once.
_ELCODE = re.compile(r"\[img[^\[\]]{0,200}\]([^\[\]]{1,2000})\[/img\]", re.IGNORECASE)
_MARKDOWN = re.compile(r"!\[[^\[\]\n]{0,500}\]\(\s{0,9}<?([^\s<>()\[\]]{1,2000})")
_TEXTILE = re.compile(
    r"(?<![\w!])!(?![\s!])[<>=]?([^\s!()]{1,2000})(?:\([^()\n]{0,200}\))?!"
)


def _of_html(text: str) -> Iterator[str]:
    for kind, name, found in marks(text):
        if kind == OPENS and name in {"img", "image"}:
            yield unescape_address(found.get("src") or "")


def _by(pattern: re.Pattern[str]) -> Callable[[str], Iterator[str]]:
    return lambda text: (unescape(found[1]) for found in pattern.finditer(text))


def _of_markdown(text: str) -> Iterator[str]:
    yield from _by(_MARKDOWN)(text)
    if "<img" in text.lower():
        yield from _of_html(text)


_READERS: dict[str, Callable[[str], Iterator[str]]] = {
    "html": _of_html,
    "markdown": _of_markdown,
    "elcode": _by(_ELCODE),
    "textile": _by(_TEXTILE),
}


def addresses(text: str, text_format: str) -> list[str]:
    """Return the address of each picture once, as it stands in the text; total.

    A picture that stands in the address itself has none.
    """
    reader = _READERS.get(text_format)
    found: dict[str, None] = {}
    for named in reader(text) if reader else ():
        # As a browser takes it.
        address = _BREAKS.sub("", named).strip()
        is_here = address.lower().startswith("data:")
        if 0 < len(address) <= _LONGEST_ADDRESS and not is_here:
            found[address] = None
        if len(found) == MOST_PICTURES:
            break
    return list(found)
