"""What a chunk begins with: the entry's title, or what the entry answers."""

import re
from typing import NamedTuple

from shared.embedding.models.encoder_contract import Encoder

# A line that says what it is about is shorter; a chunk has ten times as many.
MOST_PIECES = 24
# And of an encoder that reads little, a quarter at most.
_SHARE = 4
_READ_CHARACTERS = 400
_WORDS = re.compile(r"\w+")
_SENTENCE = re.compile(r"(?<=[.!?])\s|\n")
# A title of these alone, or of numbers, says nothing that the text does not.
_SAYS_LITTLE = frozenset(
    {"answer", "antw", "aw", "comment", "entry", "follow", "followup", "fw", "fwd"}
    | {"note", "re", "reply", "sv", "to", "untitled", "up", "update", "wg"}
)


class Heading(NamedTuple):
    """What is put before a chunk for the encoder, and how many pieces that has."""

    text: str = ""
    pieces: int = 0


def is_telling(title: str) -> bool:
    """Tell whether a title says what its entry is about; "Re:" does not."""
    words = _WORDS.findall(title[:_READ_CHARACTERS].casefold())
    return any(not (word.isdigit() or word in _SAYS_LITTLE) for word in words)


def of_answered(title: str, text: str) -> str:
    """Return the subject of an answered entry: its title, or its first sentence."""
    if is_telling(title):
        return title
    return _SENTENCE.split(text[:_READ_CHARACTERS].strip(), maxsplit=1)[0]


def made(line: str, encoder: Encoder) -> Heading:
    """Return as many words of a line as a chunk has room for, and a line's end."""
    line = line[:_READ_CHARACTERS].strip()
    most = min(MOST_PIECES, encoder.max_tokens // _SHARE)
    end = pieces = 0
    for word in encoder.words(line):
        if pieces + word.tokens > most:
            break
        end, pieces = word.end, pieces + word.tokens
    return Heading(f"{line[:end]}\n", pieces) if end else Heading()
