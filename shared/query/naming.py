"""Whether a question asks for names and phrases alone, told from its words as read."""

from __future__ import annotations

from collections.abc import Iterator

from shared.query.language.tree import And, Node, Or, Pattern, Phrase, Words
from shared.text.facility import Facility
from shared.text.tokens import scan
from shared.vocabulary.expand import UNSTEMMED

# Whoever writes more describes something, and reading it would hold up others.
MAX_CHARACTERS = 200


def names_all(node: Node | None, facility: Facility) -> bool:
    """Whether nothing else is wanted; what is excluded or a filter does not count."""
    found = [] if node is None else [*_wanted(node)]
    if sum(len(one.text) for one in found) > MAX_CHARACTERS:
        return False
    return bool(found) and all(_is_exact(one, facility) for one in found)


def _wanted(node: Node) -> Iterator[Words | Phrase | Pattern]:
    match node:
        case Words() | Phrase() | Pattern():
            yield node
        case And(parts=parts) | Or(parts=parts):
            for part in parts:
                yield from _wanted(part)


def _is_exact(wanted: Words | Phrase | Pattern, facility: Facility) -> bool:
    if isinstance(wanted, Pattern):
        # It may stand for any word.
        return False
    tokens = [*scan(wanted.text, UNSTEMMED, facility)]
    is_phrase = isinstance(wanted, Phrase)
    return bool(tokens) and all(is_phrase or token.is_name for token in tokens)
