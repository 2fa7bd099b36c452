"""What a model wrote, sentence by sentence, with the marks that each cites by."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shared.answers.evidence.evidence import EvidenceEntry, Sentence
from shared.answers.evidence.sentences import split_sentences
from shared.answers.prompt.fence import strip_marks

_MARK = re.compile(r"\s*\[(#[^\[\]\s]{1,100}|[#\d][^\[\]]{0,80})\]")
_LEADING = re.compile(
    r"(?:\s{0,4}\[(?:#[^\[\]\s]{1,100}|[#\d][^\[\]]{0,80})\]){1,8}[.,;]?\s*"
)
_PARTED = re.compile(r"\s*[,;]\s*|\s+and\s+|\s+")
_LIST = re.compile(r"^[-*\u2022]\s+")
# The point behind the number of an item ends no sentence.
_NUMBERED = re.compile(r"^\s*\d{1,2}[.)]\s+", re.MULTILINE)
# A line that ends or begins with a mark is not one that an editor has broken.
_MARKED_LINE = re.compile(r"(?<=\])\n(?=[^a-z])|\n(?=\[[#\d])")
_EMPHASIS = re.compile(r"\*\*|__|`|^#{1,6}\s+", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Mark:
    """What one mark stands for: a sentence, or all of an entry that was given."""

    entry: EvidenceEntry
    sentence: Sentence | None = None


@dataclass(frozen=True, slots=True)
class WrittenSentence:
    """A sentence without its marks, and what they name."""

    text: str
    marks: tuple[Mark, ...]
    # How many of its marks name nothing that the model was given.
    unknown: int = 0


def read_sentences(text: str, marks: Mapping[str, Mark]) -> list[WrittenSentence]:
    """Split a text into sentences; marks behind a full stop belong before it."""
    plain = _NUMBERED.sub("\u2022 ", _EMPHASIS.sub("", text))
    plain = _MARKED_LINE.sub("\n\n", plain)
    pieces: list[str] = []
    for start, end, _ in split_sentences(plain):
        piece = plain[start:end].strip()
        leading = _LEADING.match(piece)
        if leading and pieces and not _MARK.search(pieces[-1]):
            pieces[-1] += f" {leading[0].strip()}"
            piece = piece[leading.end() :]
        if piece:
            pieces.append(_LIST.sub("", piece))
    return [one for one in map(_read, pieces, [marks] * len(pieces)) if one.text]


def _read(piece: str, marks: Mapping[str, Mark]) -> WrittenSentence:
    found: list[Mark] = []
    unknown = 0
    for match in _MARK.finditer(piece):
        for name in _names(match[1], marks):
            if name in marks:
                found.append(marks[name])
            else:
                unknown += 1
    bare = " ".join(_MARK.sub("", piece).split())
    # What else looks like a citation cites nothing.
    bare = re.sub(r"\s+([.,;:!?])", r"\1", strip_marks(bare))
    is_said = any(map(str.isalnum, bare))
    return WrittenSentence(
        bare if is_said else "", tuple(dict.fromkeys(found)), unknown
    )


def _names(inner: str, marks: Mapping[str, Mark]) -> Sequence[str]:
    """Return the labels in a pair of brackets; a label may hold a comma itself."""
    whole = _label(inner)
    if whole in marks:
        return [whole]
    return [_label(one) for one in _PARTED.split(inner.strip()) if one]


def _label(written: str) -> str:
    """Return a label as it was given, without its revision."""
    return written.strip().partition("@")[0]
