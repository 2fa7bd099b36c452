"""The context that a model reads: entries in one exact form, within its bounds.

Equal entries and bounds give the same text byte for byte.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

CUT = "..."
# An entry that would have less room than this is left out.
LEAST_CHARACTERS = 100
Form = Literal["entry", "source"]
_SEPARATORS: dict[Form, str] = {"entry": "\n---\n", "source": "\n\n"}


@dataclass(frozen=True, slots=True)
class ContextEntry:
    """An entry as a model reads it."""

    # As it is cited: a label, or the place of a result.
    label: str
    source_uri: str
    time: str
    author: str
    title: str
    content: str

    def head(self, form: Form) -> str:
        """Return the line above its text."""
        if form == "source":
            return f"Source {self.label} ({self.source_uri}):"
        author, title = self.author or "unknown", self.title or "untitled"
        return f"ENTRY #{self.label} | {self.time} | Author: {author} | {title}"


@dataclass(frozen=True, slots=True)
class Bounds:
    """How long a context may be, and the text of one entry in it."""

    max_context_chars: int = 12_000
    max_chars_per_entry: int = 2000
    # None: whoever reads it is not known to count tokens.
    max_context_tokens: int | None = None
    count_tokens: Callable[[str], int] = len

    def admit(self, text: str) -> bool:
        """Tell whether a context may be as long as a text."""
        if len(text) > self.max_context_chars:
            return False
        most = self.max_context_tokens
        return most is None or self.count_tokens(text) <= most


SHIPPED = Bounds()


@dataclass(frozen=True, slots=True)
class AssembledContext:
    """The context, whose entries are in it, and whether any was cut or left out."""

    text: str
    labels: tuple[str, ...]
    is_truncated: bool


def assemble_context(
    entries: Sequence[ContextEntry], bounds: Bounds, form: Form = "entry"
) -> AssembledContext:
    """Return entries in their order as one text; separators and cuts count."""
    separator = _SEPARATORS[form]
    text, labels, is_truncated = "", list[str](), False
    for one in entries:
        content = _cut(one.content, bounds.max_chars_per_entry)
        is_truncated |= content != one.content
        whole = f"{one.head(form)}\n{content}"
        before = separator if labels else ""
        if bounds.admit(text + before + whole):
            text += before + whole
            labels.append(one.label)
            continue
        is_truncated = True
        room = _find_room(text + before, whole, bounds)
        if room >= LEAST_CHARACTERS:
            text += before + _cut(whole, room)
            labels.append(one.label)
        break
    return AssembledContext(text, tuple(labels), is_truncated)


def _find_room(before: str, whole: str, bounds: Bounds) -> int:
    """Return how many characters of an entry there is room for; 0: too few."""
    most = min(bounds.max_context_chars - len(before), len(whole) - 1)
    if bounds.max_context_tokens is None:
        return most
    # Halving finds room that is there, though not each longer text has more tokens.
    least, found = LEAST_CHARACTERS, 0
    while least <= most:
        middle = (least + most) // 2
        if bounds.admit(before + _cut(whole, middle)):
            found, least = middle, middle + 1
        else:
            most = middle - 1
    return found


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - len(CUT)] + CUT
