"""Whether a question asks for names and phrases alone, told from its words as read."""

from __future__ import annotations

from collections.abc import Iterator

from shared.query.language.tree import And, Field, Node, Not, Or, Phrase, Words
from shared.text.facility import Facility
from shared.text.tokens import scan
from shared.vocabulary.expand import UNSTEMMED

# Whoever writes more describes something, and reading it would hold up others.
MAX_CHARACTERS = 200


def names_all(node: Node | None, facility: Facility) -> bool:
    """Whether nothing else is wanted; what is excluded or a filter does not count."""
    found = [*_wanted(node)] if node is not None else []
    length = sum(0 if one is None else len(one.text) for one in found)
    if not found or None in found or length > MAX_CHARACTERS:
        return False
    return all(_is_exact(one, facility) for one in found if one is not None)


def _wanted(node: Node) -> Iterator[Words | Phrase | None]:
    """Yield what is wanted; None for a pattern, which may stand for any word."""
    match node:
        case Words() | Phrase():
            yield node
        case And(parts=parts) | Or(parts=parts):
            for part in parts:
                yield from _wanted(part)
        case Not() | Field():
            return
        case _:
            yield None


def _is_exact(wanted: Words | Phrase, facility: Facility) -> bool:
    tokens = [*scan(wanted.text, UNSTEMMED, facility)]
    if isinstance(wanted, Phrase):
        return bool(tokens)
    return bool(tokens) and all(token.is_name for token in tokens)
